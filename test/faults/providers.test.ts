/** A machine without the wanted accelerator (O-19). */
import { NodeProcess, Peer } from '../ros/harness';
import { useRig } from './rig';

const rig = useRig(() => ({ parameters: { execution_providers: '[tensorrt, cuda, cpu]' } }));

test('[tensorrt, cuda, cpu] runs on the CPU: one warning with the reason for each, seen in status and diagnostics', async () => {
  const { node, peer } = rig;
  const warnings = node.log.match(/\[WARN\].*PROVIDER_MISSING: .*/g);
  expect(warnings).toHaveLength(2);
  expect(warnings![0]).toMatch(/tensorrt is not available: \S+/);
  expect(warnings![1]).toMatch(/cuda is not available: \S+/);
  expect(peer.messages('status').at(-1)!.msg.provider).toBe('cpu');
  const { level, values } = await rig.says('engine', ({ message }) =>
    message.startsWith('running on cpu, not as asked'),
  );
  expect(level).toBe(1);
  expect(values).toMatchObject({ provider: 'cpu' });
});

// No chunk here: the parameter is fixed when the node starts.
test('[cuda] alone: configure fails with every reason, and the node lives', async () => {
  const node = NodeProcess.start('demo', 'demo.yaml', { execution_providers: '[cuda]' }, [
    '-r',
    '__ns:=/cuda',
  ]);
  const peer = await Peer.bare('cuda_peer');
  peer.subscribe('/cuda/status', 'oxygen_vla/msg/Status', { durability: 'transient_local' });
  await node.says(
    /not configured: PROVIDER_MISSING: none of execution_providers \[cuda\] can be used: cuda is not/,
  );
  const says = (msg: { lifecycle: string; last_error: string }): boolean =>
    msg.lifecycle === 'unconfigured' && msg.last_error.startsWith('PROVIDER_MISSING');
  await peer.waitForMessage('/cuda/status', says, 3000);
  const change = { transition: { label: 'configure' } };
  expect(await peer.call('/cuda/oxygen/change_state', 'lifecycle_msgs/srv/ChangeState', change)).toEqual({
    success: false,
  });
  await peer.end();
  expect(await node.end()).toMatchObject({ code: 0 });
});
