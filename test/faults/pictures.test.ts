/** A compressed camera that hangs upside down, and files that are none (O-02). */
import { readFileSync } from 'node:fs';
import { deflateSync, crc32 } from 'node:zlib';
import sharp from 'sharp';
import { IMAGE_SIZE, textsById } from '../ros/demo-scene';
import { SENSOR, sleep } from '../ros/harness';
import { useRig } from './rig';

const TOPIC = 'camera/base_0_rgb/image_raw/compressed';
const files: Record<string, Buffer> = {};

const rig = useRig(async it => {
  await makeFiles(it.scene.imageFile);
  it.recovers = () => {
    it.peer.joints(['yaw', 'shoulder', 'elbow', 'wrist'], it.scene.state, 50);
    it.peer.instruction(it.scene.instruction);
    camera('jpeg');
    return it.chunk();
  };
  const compressed = 'image_raw/compressed, transport: compressed, rotate: 180';
  return { parameters: { robot: it.robot('compressed.yaml', 'image_raw, transport: raw', compressed) } };
});

async function makeFiles(imageFile: string): Promise<void> {
  const [height, width] = IMAGE_SIZE;
  const raw = sharp(readFileSync(imageFile), { raw: { height, width, channels: 3 } }).rotate(180);
  files['jpeg'] = await raw.clone().jpeg({ quality: 95, chromaSubsampling: '4:4:4' }).toBuffer();
  files['png'] = await raw.clone().png().toBuffer();
  files['cut'] = files['jpeg'].subarray(0, files['jpeg'].length / 2);
  files['empty'] = Buffer.alloc(0);
  files['text'] = Buffer.from('this is no picture at all');
  files['bomb'] = pngOf(60_000, 60_000);
  files['grey'] = await raw.clone().greyscale().jpeg().toBuffer();
}

/** A PNG of some bytes that says it is that large. */
function pngOf(width: number, height: number): Buffer {
  const chunk = (type: string, data: Buffer): Buffer => {
    const body = Buffer.concat([Buffer.from(type), data]);
    const [length, crc] = [Buffer.alloc(4), Buffer.alloc(4)];
    length.writeUInt32BE(data.length);
    crc.writeUInt32BE(crc32(body));
    return Buffer.concat([length, body, crc]);
  };
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 2, 0, 0, 0], 8);
  const magic = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  const pixels = chunk('IDAT', deflateSync(Buffer.alloc(1_000_000)));
  return Buffer.concat([magic, chunk('IHDR', header), pixels, chunk('IEND', Buffer.alloc(0))]);
}

function camera(name: string, format = 'bgr8; jpeg compressed bgr8'): void {
  const fields = { name: TOPIC, topic: TOPIC, type: 'sensor_msgs/msg/CompressedImage', qos: SENSOR };
  rig.peer.send('stream', {
    ...fields,
    hz: 20,
    msg: { format },
    file: rig.file(name, files[name]!),
    stamp: 0,
  });
}

test.each([
  ['cut', 'IMAGE_CORRUPT'],
  ['empty', 'IMAGE_CORRUPT'],
  ['text', 'IMAGE_CORRUPT'],
  ['bomb', 'IMAGE_CORRUPT'],
])('%s: dropped and counted; logged every few seconds at most', async (name, code) => {
  const lines = (): number => rig.node.log.match(new RegExp(`${code}: ${TOPIC}`, 'g'))?.length ?? 0;
  const before = lines();
  await rig.drops(code, () => camera(name), 4);
  expect(lines() - before).toBeLessThanOrEqual(1);
  const from = rig.peer.events.length;
  await sleep(300);
  expect(rig.peer.messages('action_chunk', from)).toEqual([]);
});

test('a file of another kind, by its format', async () => {
  await rig.drops('IMAGE_ENCODING', () => camera('jpeg', '16UC1; compressedDepth png'), 2);
});

test.each([
  ['png', 'bgr8; png compressed bgr8'],
  ['jpeg', 'rgb8; jpeg compressed bgr8'],
  ['jpeg', 'jpeg'],
  ['jpeg', ''],
])(
  '%s of format %j is turned back, and red stays red: the model names places and colours',
  async (name, format) => {
    const { peer, scene } = rig;
    camera(name, format);
    await sleep(300);
    const id = `${name} ${format}`;
    peer.request({ id, text: 'Scene: ' });
    await peer.waitForMessage('language/tokens', msg => msg.request_id === id && msg.finish_reason === 'end');
    const text = textsById(peer)
      .get(id)!
      .map(token => token.text_delta)
      .join('');
    expect(text).toBe(scene.texts.get('Scene: ')!.text);
  },
);

test('a picture of one channel is a picture', async () => {
  camera('grey');
  await sleep(300);
  await rig.chunk();
});
