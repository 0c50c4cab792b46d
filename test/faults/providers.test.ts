/** A machine without the wanted accelerator (O-19). */
import { NodeProcess, Peer } from '../ros/harness';
import { useRig } from './rig';

const rig = useRig(() => ({ parameters: { execution_providers: '[tensorrt, cuda, cpu]' } }));

test('[tensorrt, cuda, cpu] runs on the CPU: one warning with the reason for each, seen in status and diagnostics', async () => {
  const { node, peer } = rig;
  const warnings = node.log.match(/\[WARN\].*PROVIDER_MISSING: .*/g);
  expect(warnings).toHaveLength(2);
  expect(warnings![0]).toMatch(
    /tensorrt is not used: onnxruntime-node lacks .*oxygen build --target tensorrt/,
  );
  expect(warnings![1]).toMatch(/cuda is not used: onnxruntime-node lacks .*oxygen build --target cuda/);
  expect(peer.messages('status').at(-1)!.msg.provider).toBe('cpu');
  const { level, values } = await rig.says('engine', ({ message }) =>
    message.startsWith('running on cpu, not as asked'),
  );
  expect(level).toBe(1);
  expect(values).toMatchObject({ provider: 'cpu' });
});

// No chunk here: the parameters are fixed when the node starts.
test.each([
  [
    'cuda',
    { execution_providers: '[cuda]' },
    /not configured: PROVIDER_MISSING: none of execution_providers \[cuda\] can be used: cuda is not used: .*add cpu to the list/,
  ],
  [
    'required',
    { execution_providers: '[tensorrt, cuda, cpu]', required_provider: 'cuda' },
    /not configured: PROVIDER_MISSING: required_provider cuda cannot be had: .*libonnxruntime_providers_cuda\.so \(see docs\/nvidia\.md.*set required_provider to ''/,
  ],
] as const)(
  '%s: configure fails with every reason and the cure, and the node lives',
  async (ns, parameters, says) => {
    const node = NodeProcess.start('demo', 'demo.yaml', parameters, ['-r', `__ns:=/${ns}`]);
    const peer = await Peer.bare(`${ns}_peer`);
    peer.subscribe(`/${ns}/status`, 'oxygen_vla/msg/Status', { durability: 'transient_local' });
    await node.says(says);
    const refused = (msg: { lifecycle: string; last_error: string }): boolean =>
      msg.lifecycle === 'unconfigured' && msg.last_error.startsWith('PROVIDER_MISSING');
    await peer.waitForMessage(`/${ns}/status`, refused, 3000);
    const change = { transition: { label: 'configure' } };
    expect(await peer.call(`/${ns}/oxygen/change_state`, 'lifecycle_msgs/srv/ChangeState', change)).toEqual({
      success: false,
    });
    await peer.end();
    expect(await node.end()).toMatchObject({ code: 0 });
  },
);
