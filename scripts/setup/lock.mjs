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

const tryLock = () => {
  try {
    fs.writeFileSync(LOCK, identity(process.pid) ?? `${process.pid}`, { flag: 'wx' });
    return true;
  } catch (error) {
    if (error.code !== 'EEXIST') throw error;
    return false;
  }
};

const holder = () => {
  try {
    return fs.readFileSync(LOCK, 'utf8');
  } catch {
    return '';
  }
};

/** Runs `work` while this process alone holds the lock; waits for another set-up to end. */
export const withLock = async work => {
  if (process.env[HELD]) return work();
  fs.mkdirSync(STATE, { recursive: true });
  let told = false;
  while (!tryLock()) {
    const owner = holder();
    if (owner !== '' && identity(owner.split(' ')[0]) !== owner) fs.rmSync(LOCK, { force: true });
    else {
      if (!told)
        console.error(`  another set-up is running (process ${owner.split(' ')[0]}): waiting for it`);
      told = true;
      await sleep(300);
    }
  }
  process.env[HELD] = '1';
  const release = () => fs.rmSync(LOCK, { force: true });
  process.once('exit', release);
  try {
    return await work();
  } finally {
    delete process.env[HELD];
    process.removeListener('exit', release);
    release();
  }
};
