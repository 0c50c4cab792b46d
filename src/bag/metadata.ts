/** metadata.yaml of a rosbag2 folder: which files, in which order, and how many messages. */
import { parse } from 'yaml';
import { z } from 'zod';
import { readSmallFile } from '../model/small-file';

export const METADATA_FILE = 'metadata.yaml';
const MAX_BYTES = 16 * 1024 * 1024;

export interface Metadata {
  readonly files: readonly string[];
  /** Messages by topic. */
  readonly counts: ReadonlyMap<string, number>;
}

const count = z.union([z.number(), z.bigint()]).transform(Number);

/** Only what is used; versions 1 to 9 have it in the same place. */
const schema = z.object({
  rosbag2_bagfile_information: z.object({
    relative_file_paths: z.array(z.string()),
    topics_with_message_count: z
      .array(z.object({ topic_metadata: z.object({ name: z.string() }), message_count: count }))
      .default([]),
  }),
});

/** Throws a plain Error with the reason. */
export function readMetadata(path: string): Metadata {
  // Times have more digits than a double.
  const yaml: unknown = parse(readSmallFile(path, MAX_BYTES).toString('utf8'), { intAsBigInt: true });
  const result = schema.safeParse(yaml);
  if (!result.success) throw new Error(z.prettifyError(result.error).replaceAll('\n', ' '));
  const { relative_file_paths, topics_with_message_count } = result.data.rosbag2_bagfile_information;
  return {
    files: relative_file_paths,
    counts: new Map(
      topics_with_message_count.map(({ topic_metadata, message_count }) => [
        topic_metadata.name,
        message_count,
      ]),
    ),
  };
}
