// How long a fault takes to show in /diagnostics, seen from a peer.
import { CAMERA, isolated, nowMs, sleep, withNode } from './rig.mjs';

const TIMEOUT_MS = 300; // sync.timeout_ms of the robot file
const OK = 0;

/** The first diagnostics in which a part is or is no longer well; its time (ms). */
const told = async (peer, part, fits) => {
  const { t } = await peer.message(
    '/diagnostics',
    msg => fits((msg.status.find(({ name }) => name.endsWith(`: ${part}`)) ?? { level: OK }).level),
    60_000,
  );
  return t;
};
const well = (peer, part) => told(peer, part, level => level === OK);
const unwell = (peer, part) => told(peer, part, level => level > OK);

const inputPart = `input ${CAMERA}`;

/** Each makes a fault and returns ms until it is told; it leaves a node that is well. */
const FAULTS = {
  'camera stops': async peer => {
    const shown = unwell(peer, inputPart);
    const last = peer.next('the last picture', event => event.event === 'unstreamed');
    peer.send('unstream', { topic: CAMERA });
    const ms = (await shown) - ((await last).t + TIMEOUT_MS);
    const again = well(peer, inputPart);
    peer.camera();
    await again;
    return ms;
  },
  'engine killed': async (peer, node) => {
    const shown = unwell(peer, 'engine');
    const at = nowMs();
    process.kill(node.enginePid(), 'SIGKILL');
    const ms = (await shown) - at;
    await well(peer, 'engine');
    for (let n = 0; n < 11; n++) await peer.message('action_chunk');
    return ms;
  },
  'bad pictures': async peer => {
    const shown = unwell(peer, inputPart);
    const first = peer.next('a bad picture', event => event.event === 'streaming');
    peer.camera(undefined, { encoding: 'bayer_rggb17' });
    const ms = (await shown) - (await first).t;
    const again = well(peer, inputPart);
    peer.camera();
    await again;
    return ms;
  },
};

const mismatch = async peer => {
  const shown = unwell(peer, 'graph');
  const at = peer.next('the publisher', event => event.event === 'advertised');
  const publisher = {
    topic: 'instruction',
    type: 'std_msgs/msg/String',
    qos: { reliability: 'best_effort' },
  };
  peer.send('advertise', publisher);
  const ms = (await shown) - (await at).t;
  const again = well(peer, 'graph');
  peer.send('retire', { topic: 'instruction' });
  await again;
  return ms;
};

const repeated = async (times, once) => {
  const values = [];
  for (let n = 0; n < times; n++) {
    // Not in step with anything that happens once a second.
    await sleep(300 + 370 * n);
    values.push(await once());
  }
  return values;
};

export const measureDiagnostics = ({ quick, env }) => {
  const times = quick ? 2 : 5;
  return withNode(isolated(env), {}, async (peer, node) => {
    peer.subscribe('/diagnostics', 'diagnostic_msgs/msg/DiagnosticArray', { fields: ['status'] });
    await Promise.all([well(peer, inputPart), well(peer, 'engine'), well(peer, 'graph')]);
    const worst = {};
    for (const [name, fault] of Object.entries(FAULTS))
      worst[name] = Math.max(...(await repeated(times, () => fault(peer, node))));
    const mismatches = await repeated(times, () => mismatch(peer));
    const note = Object.entries(worst).map(([name, ms]) => `${name} ${ms.toFixed(0)}`);
    return [
      {
        name: 'fault_to_diagnostics_ms',
        value: Math.max(...Object.values(worst)),
        limit: { most: 1000 },
        note: `worst of ${times} each: ${note.join(', ')}`,
      },
      {
        name: 'qos_mismatch_ms',
        value: Math.max(...mismatches),
        limit: { most: 2000 },
        note: `worst of ${times}: a best-effort publisher on \`instruction\``,
      },
    ];
  });
};
