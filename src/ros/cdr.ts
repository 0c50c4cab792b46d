/** Serialised sensor messages (CDR) to plain data, without copying pixels: the same bytes as in a bag. */
import { ros2jazzy } from '@foxglove/rosmsg-msgs-common';
import { MessageReader } from '@foxglove/rosmsg2-serialization';
import { OxygenError } from '../core/errors';
import type { ErrorCode } from '../core/errors';
import type { ImageTransport } from '../core/robot';
import type { CameraMessage } from './ingest';
import type { CompressedImageMessage, ImageMessage, JointStateMessage } from './messages';

type SensorType = 'sensor_msgs/Image' | 'sensor_msgs/CompressedImage' | 'sensor_msgs/JointState';

const readerOf = (type: SensorType): MessageReader<unknown> =>
  // The root definition must have no name, or the reader looks for a root in vain.
  new MessageReader([
    { definitions: ros2jazzy[type].definitions },
    { name: 'std_msgs/Header', definitions: ros2jazzy['std_msgs/Header'].definitions },
  ]);

const image = readerOf('sensor_msgs/Image');
const compressed = readerOf('sensor_msgs/CompressedImage');
const jointState = readerOf('sensor_msgs/JointState');

/** The picture bytes of the result are a view of `bytes`. @throws OxygenError IMAGE_CORRUPT */
export const readImage = (bytes: Uint8Array): ImageMessage =>
  withPicture(bytes, read<ImageMessage>(image, bytes, 'IMAGE_CORRUPT'));

/** The picture bytes of the result are a view of `bytes`. @throws OxygenError IMAGE_CORRUPT */
export const readCompressedImage = (bytes: Uint8Array): CompressedImageMessage =>
  withPicture(bytes, read<CompressedImageMessage>(compressed, bytes, 'IMAGE_CORRUPT'));

/** A picture of a camera, as it travels. @throws OxygenError IMAGE_CORRUPT */
export const readCamera = (transport: ImageTransport, bytes: Uint8Array): CameraMessage =>
  transport === 'raw'
    ? { kind: 'raw', message: readImage(bytes) }
    : { kind: 'compressed', message: readCompressedImage(bytes) };

/** @throws OxygenError STATE_INVALID */
export const readJointState = (bytes: Uint8Array): JointStateMessage =>
  read<JointStateMessage>(jointState, bytes, 'STATE_INVALID');

function read<T>(reader: MessageReader<unknown>, bytes: Uint8Array, code: ErrorCode): T {
  try {
    return reader.readMessage(bytes) as T;
  } catch (cause) {
    throw new OxygenError(code, `the serialised message of ${bytes.byteLength} bytes is damaged`, { cause });
  }
}

/** The reader trusts the length field as far as the ArrayBuffer goes, which may be longer than the message. */
function withPicture<T extends { readonly data: Uint8Array }>(bytes: Uint8Array, message: T): T {
  const { data } = message;
  if (data.byteLength > 0 && data.byteOffset + data.byteLength > bytes.byteOffset + bytes.byteLength) {
    throw new OxygenError(
      'IMAGE_CORRUPT',
      `the message claims ${data.byteLength} picture bytes, but has only ${bytes.byteLength} bytes in all`,
    );
  }
  return message;
}
