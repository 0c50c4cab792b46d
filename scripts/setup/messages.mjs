// The JavaScript classes of all ROS 2 messages, inside rclnodejs. They are made from the .msg files alone, so
// this project's own messages need not be built first: a prefix that holds just their text is enough.
import fs from 'node:fs';
import path from 'node:path';
import { run } from './command.mjs';
import { at, RCLNODEJS, STATE } from './paths.mjs';
import { prepend, rosEnv, rosName } from './ros-env.mjs';

const PACKAGE = 'oxygen_vla';
const GENERATED = path.join(RCLNODEJS, 'generated');

const messageFiles = () => fs.readdirSync(at('msg')).filter(name => name.endsWith('.msg'));

const classFile = name => path.join(GENERATED, PACKAGE, `${PACKAGE}__msg__${path.parse(name).name}.js`);

/** Lays the .msg files out as an installed package; returns the prefix. */
const textPrefix = () => {
  const prefix = path.join(STATE, 'messages');
  fs.rmSync(prefix, { recursive: true, force: true });
  const index = path.join(prefix, 'share/ament_index/resource_index/rosidl_interfaces');
  fs.mkdirSync(index, { recursive: true });
  fs.cpSync(at('msg'), path.join(prefix, 'share', PACKAGE, 'msg'), { recursive: true });
  fs.writeFileSync(
    path.join(index, PACKAGE),
    messageFiles()
      .map(name => `msg/${name}\n`)
      .join(''),
  );
  return prefix;
};

export const messages = {
  name: 'messages for JavaScript',
  inputs: ({ env }) => [
    [at('msg'), path.join(RCLNODEJS, 'package.json')],
    [rosName(env), rosEnv(env).AMENT_PREFIX_PATH],
  ],
  outputs: [GENERATED],
  isSound: () => messageFiles().every(name => fs.existsSync(classFile(name))),
  run: async ({ env, onLine }) => {
    const ros = rosEnv(env);
    const output = await run(process.execPath, [path.join(RCLNODEJS, 'scripts/generate_messages.cjs')], {
      env: { ...ros, AMENT_PREFIX_PATH: prepend(ros.AMENT_PREFIX_PATH, [textPrefix()]) },
      onLine,
    });
    // The generator exits with 0 whatever happens.
    const absent = messageFiles().filter(name => !fs.existsSync(classFile(name)));
    if (absent.length > 0)
      throw new Error(`no JavaScript class came out for ${absent.join(', ')}:\n${output}`);
  },
};
