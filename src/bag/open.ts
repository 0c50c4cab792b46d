/** Opens a bag: a rosbag2 folder with or without metadata.yaml, or one of its files. */
import { OxygenError } from '../core/errors';
import { counted } from '../core/words';
import { findBagFiles } from './bag-files';
import type { BagFile, BagFiles } from './bag-files';
import { epochOf } from './epoch';
import type { Epoch } from './epoch';
import { FileFaults, Faults } from './faults';
import { openMcap } from './mcap-file';
import { Reading } from './reading';
import { openSqlite } from './sqlite-file';
import type { StorageFile } from './storage';
import type { Bag, BagTopic } from './types';

/** @throws OxygenError BAG_NOT_FOUND, BAG_UNSUPPORTED; BAG_DAMAGED if nothing of it can be read */
export async function openBag(path: string): Promise<Bag> {
  const faults = new Faults();
  const found = await findBagFiles(path, faults);
  const opened = await openAll(found.files, faults);
  try {
    const all = topicsOf(opened, found, faults);
    const epoch = await epochOf(opened, all, faults);
    const topics = countedIn(epoch, all);
    return {
      path,
      storage: found.files[0]!.storage,
      bytes: found.files.reduce((sum, { bytes }) => sum + bytes, 0),
      files: found.files.map(({ name }) => name),
      topics,
      startNs: epoch?.fromNs ?? null,
      endNs: epoch?.toNs ?? null,
      far: epoch?.far ?? 0,
      get faults() {
        return faults.list;
      },
      messages: selection => new Reading(opened, topics, epoch, faults, selection).messages(),
      close: () => closeAll(opened),
    };
  } catch (error) {
    await closeAll(opened);
    throw error;
  }
}

/** A file of which nothing can be read costs that file only, unless nothing can be read of any. */
async function openAll(files: readonly BagFile[], faults: Faults): Promise<readonly StorageFile[]> {
  const opened: StorageFile[] = [];
  try {
    for (const file of files) {
      try {
        opened.push(await openFile(file, faults));
      } catch (error) {
        const own = error instanceof OxygenError && error.code.startsWith('BAG_');
        if (!own || (file === files.at(-1) && opened.length === 0)) throw error;
        faults.put(`open:${file.name}`, 'BAG_DAMAGED', `${file.name}: ${error.message}; it was left out`);
      }
    }
  } catch (error) {
    await closeAll(opened);
    throw error;
  }
  return opened;
}

async function openFile({ path, name, storage }: BagFile, faults: Faults): Promise<StorageFile> {
  const fileFaults = new FileFaults(name, faults);
  if (storage === 'mcap') return openMcap(path, fileFaults);
  return openSqlite(path, fileFaults);
}

const closeAll = async (files: readonly StorageFile[]): Promise<void> => {
  await Promise.all(files.map(file => file.close()));
};

/** Where each message was looked at, the counts are of those that are given. */
const countedIn = (
  epoch: Epoch | null,
  topics: ReadonlyMap<string, BagTopic>,
): ReadonlyMap<string, BagTopic> =>
  epoch === null || epoch.counts === null
    ? topics
    : new Map([...topics].map(([name, topic]) => [name, { ...topic, count: epoch.counts!.get(name) ?? 0 }]));

/** Of all files; counts are added up, or else those of metadata.yaml. */
function topicsOf(
  files: readonly StorageFile[],
  { metadata }: BagFiles,
  faults: Faults,
): ReadonlyMap<string, BagTopic> {
  const topics = new Map<string, BagTopic>();
  const others = new Map<string, BagTopic>();
  for (const topic of files.flatMap(file => file.topics)) {
    const first = topics.get(topic.name);
    const isOther = first !== undefined && first.type !== topic.type;
    const [all, key] = isOther ? [others, `${topic.name} ${topic.type}`] : [topics, topic.name];
    const known = all.get(key);
    all.set(key, known ? both(known, topic) : topic);
  }
  for (const [key, { name, type, count }] of others)
    faults.put(
      `type:${key}`,
      'BAG_UNSUPPORTED',
      `${name} has two types, ${topics.get(name)!.type} and ${type}; ` +
        `${count === null ? 'the messages' : counted(count, 'message')} of ${type} left out`,
      { messages: count },
    );
  for (const [name, topic] of topics) {
    if (topic.count === null) topics.set(name, { ...topic, count: metadata?.counts.get(name) ?? null });
  }
  return topics;
}

const both = (a: BagTopic, b: BagTopic): BagTopic => ({
  ...a,
  definition: a.definition || b.definition,
  count: a.count === null || b.count === null ? null : a.count + b.count,
});
