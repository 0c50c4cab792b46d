/** Peers on the graph, as the node asks for them. */
import { GraphWatch, fullName, otherPublishers, overrideName } from './graph-watch';
import type { EndpointInfo, GraphSource, OwnEndpoint } from './graph-watch';
import type { ParameterValues } from './parameter-spec';
import type { RclNode } from './rcl';
import { MONITORS, OUTPUTS } from './topics';
import type { Qos, TopicSpec } from './topics';

const source = (node: RclNode): GraphSource => ({
  infoPublishers: topic => node.getPublishersInfoByTopic(topic) as readonly EndpointInfo[],
  infoSubscriptions: topic => node.getSubscriptionsInfoByTopic(topic) as readonly EndpointInfo[],
  nodeNames: () =>
    node
      .getNodeNamesAndNamespaces()
      .map(({ name, namespace }) => fullName({ node_name: name, node_namespace: namespace })),
});

/** `topics`: with resolved names, already open. */
export function watchGraph(node: RclNode, topics: readonly TopicSpec[]): GraphWatch {
  const status = { ...MONITORS.status, name: node.resolveTopicName(MONITORS.status.name) };
  const commands = node.resolveTopicName(OUTPUTS.action.name);
  const endpoints = [status, ...topics].map(({ name, ...rest }): OwnEndpoint => {
    const endpoint = { ...rest, topic: name, exclusive: name === commands && rest.direction === 'out' };
    return { ...endpoint, qos: openedWith(node, endpoint) };
  });
  return new GraphWatch(node.getFullyQualifiedName(), endpoints, source(node));
}

/** The policies that an endpoint really has: rclnodejs declares a parameter for each when it opens one. */
function openedWith(node: RclNode, endpoint: OwnEndpoint): Qos {
  const { qos } = endpoint;
  const policy = <P extends keyof Qos>(name: P): Qos[P] => {
    const parameter = overrideName(endpoint, name);
    return node.hasParameter(parameter) ? (node.getParameter(parameter).value as Qos[P]) : qos[name];
  };
  return { ...qos, reliability: policy('reliability'), durability: policy('durability') };
}

/**
 * Why commands may not begin: another node commands the robot. Null: they may. A node with our own name does not count:
 * it may be our predecessor, who was killed and stays in the graph for some 20 s.
 */
export function otherCommanders(node: RclNode, values: ParameterValues): string | null {
  if (values.get('allow_other_publishers') === true || values.get('dry_run') === true) return null;
  const ours = node.getFullyQualifiedName();
  const topic = node.resolveTopicName(OUTPUTS.action.name);
  const others = otherPublishers(ours, source(node).infoPublishers(topic));
  return others.length === 0
    ? null
    : `${topic}: ${others.join(', ')} publishes there too, and a robot must not get two commands at once; ` +
        'stop it, remap one of the topics, or set allow_other_publishers';
}
