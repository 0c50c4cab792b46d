// usage: node wire.cjs '{"publishers": [{topic, type, bytes}], "subscriptions": [{topic, type}]}'
// Publishes serialised messages (base64) again and again, and prints what rclnodejs tells of the graph as JSON lines.
const rclnodejs = require('rclnodejs');

const { publishers, subscriptions } = JSON.parse(process.argv[2]);
const topics = [...publishers, ...subscriptions].map(({ topic }) => topic);

const main = async () => {
  await rclnodejs.init();
  const node = new rclnodejs.Node('wire');
  const outputs = publishers.map(({ topic, type, bytes }) => {
    const publisher = node.createPublisher(type, topic);
    return () => publisher.publish(Buffer.from(bytes, 'base64'));
  });
  for (const { topic, type } of subscriptions) node.createSubscription(type, topic, {}, () => {});
  const of = look => Object.fromEntries(topics.map(topic => [topic, look(topic)]));
  node.createTimer(100_000_000n, () => {
    outputs.forEach(publish => publish());
    const graph = {
      publishers: of(topic => node.getPublishersInfoByTopic(topic)),
      subscriptions: of(topic => node.getSubscriptionsInfoByTopic(topic)),
      nodes: node.getNodeNamesAndNamespaces(),
    };
    console.log(JSON.stringify(graph, (_, value) => (typeof value === 'bigint' ? `${value}n` : value)));
  });
  node.spin();
};

main().catch(error => {
  console.error(error);
  process.exit(1);
});
