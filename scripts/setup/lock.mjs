// One set-up at a time: two would write the same folders.
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { STATE } from './paths.mjs';

const LOCK = path.join(STATE, 'lock');
/** Tells a set-up that runs inside another one (through colcon and CMake) that the lock is already held. */
const HELD = 'OXYGEN_SETUP_LOCK_HELD';

/** Identifies a living process beyond its number, which the system uses again: number and time of its start. */
const identity = pid => {
  try {
    const fields = fs.readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
    return fields[0] === 'Z' ? undefined : `${pid} ${fields[19]}`;
  } catch {
    return undefined;
  }
};

const self = identity(process.pid) ?? `${process.pid}`;

/** A link that leads nowhere: made at once with what it says, so nobody ever sees an empty lock. */
const tryLock = lock => {
  try {
    fs.symlinkSync(self, lock);
    return true;
  } catch (error) {
    if (error.code !== 'EEXIST') throw error;
    return false;
  }
};

/** Who holds it; undefined: nobody. */
const holderOf = lock => {
  try {
    return fs.readlinkSync(lock);
  } catch (error) {
    // No link: none of ours.
    return error.code === 'EINVAL' ? '' : undefined;
  }
};

/** Another waiter may be faster, and hold the lock anew: what is taken away must be what was seen. */
const takeAway = (lock, owner) => {
  const aside = `${lock}.${process.pid}`;
  try {
    fs.renameSync(lock, aside);
  } catch {
    return;
  }
  if (holderOf(aside) === owner) fs.rmSync(aside, { recursive: true });
  else fs.renameSync(aside, lock);
};

/** Runs `work` while this process alone holds the lock; waits for another set-up to end. */
export const withLock = async (work, lock = LOCK) => {
  if (process.env[HELD]) return work();
  fs.mkdirSync(STATE, { recursive: true });
  let told = false;
  while (!tryLock(lock)) {
    const owner = holderOf(lock);
    if (owner === undefined) continue;
    if (identity(owner.split(' ')[0]) !== owner) takeAway(lock, owner);
    else {
      if (!told)
        console.error(`  another set-up is running (process ${owner.split(' ')[0]}): waiting for it`);
      told = true;
      await sleep(300);
    }
  }
  process.env[HELD] = '1';
  const release = () => holderOf(lock) === self && fs.rmSync(lock);
  process.once('exit', release);
  try {
    return await work();
  } finally {
    delete process.env[HELD];
    process.removeListener('exit', release);
    release();
  }
};
