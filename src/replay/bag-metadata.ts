/** What rosbag2 writes beside the messages: the QoS of each topic, and metadata.yaml. */
import { stringify } from 'yaml';
import type { Qos } from '../ros/topics';

export interface RecordedTopic {
  /** Absolute, such as `/action`. */
  readonly name: string;
  /** Such as `std_msgs/msg/String`. */
  readonly type: string;
  /** What `ros2 bag play` offers. */
  readonly qos: Qos;
}

export interface Recorded {
  /** Of the storage file, beside metadata.yaml. */
  readonly file: string;
  readonly startNs: bigint;
  readonly endNs: bigint;
  readonly topics: readonly (RecordedTopic & { readonly count: number })[];
}

/** Numbers of rmw: the words of later versions are not read by Humble, the numbers by all. */
const RELIABILITY = { reliable: 1, best_effort: 2 } as const;
const DURABILITY = { transient_local: 1, volatile: 2 } as const;
const KEEP_LAST = 1;
const AUTOMATIC = 1;
/** The longest time of 64 bits, which rmw takes for infinity. */
const INFINITE = { sec: 9_223_372_036, nsec: 854_775_807 };

/** QoS of the one publisher that a topic had, as text of YAML. */
export const offeredQos = ({ reliability, depth, durability }: Qos): string =>
  stringify(
    [
      {
        history: KEEP_LAST,
        depth,
        reliability: RELIABILITY[reliability],
        durability: DURABILITY[durability],
        deadline: INFINITE,
        lifespan: INFINITE,
        liveliness: AUTOMATIC,
        liveliness_lease_duration: INFINITE,
        avoid_ros_namespace_conventions: false,
      },
    ],
    { aliasDuplicateObjects: false },
  );

/** Version 5 is what Humble writes, and all later ones read. */
export function metadataYaml({ file, startNs, endNs, topics }: Recorded): string {
  const start = { nanoseconds_since_epoch: startNs };
  const duration = { nanoseconds: endNs - startNs };
  const count = topics.reduce((sum, topic) => sum + topic.count, 0);
  const information = {
    version: 5,
    storage_identifier: 'mcap',
    duration,
    starting_time: start,
    message_count: count,
    topics_with_message_count: topics.map(topic => ({
      topic_metadata: {
        name: topic.name,
        type: topic.type,
        serialization_format: 'cdr',
        offered_qos_profiles: offeredQos(topic.qos),
      },
      message_count: topic.count,
    })),
    compression_format: '',
    compression_mode: '',
    relative_file_paths: [file],
    files: [{ path: file, starting_time: start, duration, message_count: count }],
  };
  return stringify({ rosbag2_bagfile_information: information }, { aliasDuplicateObjects: false });
}
