// usage: node peer.cjs talk | listen
// talk: publishes ActionChunk until it is ended. listen: prints the first LanguageRequest as JSON and ends.
const rclnodejs = require('rclnodejs');

const chunk = {
  stamp: { sec: 12, nanosec: 345 },
  observation_stamp: { sec: 11, nanosec: 999999999 },
  dt: 0.05,
  names: ['yaw', 'elbow'],
  kinds: ['position', 'velocity'],
  horizon: 3,
  values: Float64Array.from([0.1, -0.2, 1 / 3, 1e-300, 5, -6]),
  epoch: 4294967295,
};

const main = async () => {
  await rclnodejs.init();
  const node = new rclnodejs.Node('peer_js');
  if (process.argv[2] === 'talk') {
    const publisher = node.createPublisher('oxygen_vla/msg/ActionChunk', 'chunk');
    node.createTimer(50_000_000n, () => publisher.publish(chunk));
  } else {
    node.createSubscription('oxygen_vla/msg/LanguageRequest', 'request', message => {
      console.log(JSON.stringify(message, (_, value) => (typeof value === 'bigint' ? `${value}n` : value)));
      rclnodejs.shutdown();
      process.exit(0);
    });
  }
  node.spin();
};

main().catch(error => {
  console.error(error);
  process.exit(1);
});
