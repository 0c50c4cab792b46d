// Calls that end a node which is not on its guard. After each, this one answers and commands flow.
import { isolated, withNode } from './rig.mjs';

const changeState = transition => ['change_state', 'lifecycle_msgs/srv/ChangeState', { transition }];
const set = (service, name, value) => [
  service,
  service === 'set_parameters'
    ? 'rcl_interfaces/srv/SetParameters'
    : 'rcl_interfaces/srv/SetParametersAtomically',
  { parameters: [{ _type: 'rcl_interfaces/msg/Parameter', name, value }] },
];
const INTEGER = 2;
const STRING = 4;
const UNKNOWN_TYPE = 99;
const refused = ({ success, results, result }) =>
  (success ?? results?.[0]?.successful ?? result?.successful) === false;
const anything = () => true;

/** Name → the call, and what the answer has to be. */
const PROBES = {
  'a transition that no state has': [changeState({ id: 77, label: '' }), refused],
  'a transition with an unknown label': [changeState({ id: 0, label: 'explode' }), refused],
  'activate while active': [changeState({ id: 3, label: 'activate' }), refused],
  'clean up while active': [changeState({ id: 2, label: 'cleanup' }), refused],
  'a parameter of type 99': [set('set_parameters', 'tokens_per_frame', { type: UNKNOWN_TYPE }), refused],
  'the same, atomically': [
    set('set_parameters_atomically', 'tokens_per_frame', { type: UNKNOWN_TYPE }),
    refused,
  ],
  'a parameter of the wrong type': [
    set('set_parameters', 'tokens_per_frame', { type: STRING, string_value: 'many' }),
    refused,
  ],
  'an unknown parameter': [set('set_parameters', 'no_such', { type: INTEGER, integer_value: 1 }), refused],
  'descriptions of unknown parameters': [
    ['describe_parameters', 'rcl_interfaces/srv/DescribeParameters', { names: ['no_such', '', '\u{1F916}'] }],
    anything,
  ],
};

/** '' when the node survives it. */
const probe = async (peer, [service, type, request], fits) => {
  const answer = await peer.call(`/oxygen/${service}`, type, request);
  if (answer !== null && !fits(answer)) return `was answered ${JSON.stringify(answer)}`;
  if (answer === null && fits !== anything) return 'was not answered';
  const state = await peer.state();
  if (state !== 'active') return `left the node ${state ?? 'without an answer'}`;
  await peer.message('action', undefined, 1000);
  return '';
};

export const measureProbes = ({ env, tell }) =>
  withNode(isolated(env), {}, async peer => {
    const failed = [];
    for (const [name, [call, fits]] of Object.entries(PROBES)) {
      const fault = await probe(peer, call, fits).catch(error => error.message);
      if (fault === '') continue;
      tell(`${name}: ${fault}`);
      failed.push(name);
    }
    const count = Object.keys(PROBES).length;
    const note =
      failed.length === 0 ? 'hostile service calls; then an answer and commands' : failed.join(', ');
    return [{ name: 'remote_probes_survived', value: count - failed.length, limit: { least: count }, note }];
  });
