/** Serialised sensor messages (CDR) to plain data, without copying pixels: the same bytes as in a bag. */
import type { MessageReader } from '@foxglove/rosmsg2-serialization';
import { OxygenError } from '../core/errors';
import type { ErrorCode } from '../core/errors';
import type { ImageTransport } from '../core/robot';
import type { CameraMessage } from './ingest';
import type { CompressedImageMessage, ImageMessage, JointStateMessage } from './messages';
import { readerOf, standardDefinitions } from './reader';

const image = readerOf<ImageMessage>(standardDefinitions('sensor_msgs/Image'));
const compressed = readerOf<CompressedImageMessage>(standardDefinitions('sensor_msgs/CompressedImage'));
const jointState = readerOf<JointStateMessage>(standardDefinitions('sensor_msgs/JointState'));

/** The picture bytes of the result are a view of `bytes`. @throws OxygenError IMAGE_CORRUPT */
export const readImage = (bytes: Uint8Array): ImageMessage => read(image, bytes, 'IMAGE_CORRUPT');

/** The picture bytes of the result are a view of `bytes`. @throws OxygenError IMAGE_CORRUPT */
export const readCompressedImage = (bytes: Uint8Array): CompressedImageMessage =>
  read(compressed, bytes, 'IMAGE_CORRUPT');

/** A picture of a camera, as it travels. @throws OxygenError IMAGE_CORRUPT */
export const readCamera = (transport: ImageTransport, bytes: Uint8Array): CameraMessage =>
  transport === 'raw'
    ? { kind: 'raw', message: readImage(bytes) }
    : { kind: 'compressed', message: readCompressedImage(bytes) };

/** @throws OxygenError STATE_INVALID */
export const readJointState = (bytes: Uint8Array): JointStateMessage =>
  read(jointState, bytes, 'STATE_INVALID');

function read<T>(reader: MessageReader<T>, bytes: Uint8Array, code: ErrorCode): T {
  let cause: unknown;
  try {
    const message = reader.readMessage(bytes);
    // The reader trusts lengths as far as the ArrayBuffer goes, which may be longer than the message.
    if (reader.lastReadByteLength() <= bytes.byteLength) return message;
  } catch (thrown) {
    cause = thrown;
  }
  throw new OxygenError(code, `the serialised message of ${bytes.byteLength} bytes is damaged`, { cause });
}
