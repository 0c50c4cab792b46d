/** Loaded before the node: a bug of ours, played by a picture of one size. Nothing that a peer sends makes a callback throw. */
const { Ingest } = require('../../dist/ros/ingest');

const { camera } = Ingest.prototype;
Ingest.prototype.camera = function (slot, picture, ...rest) {
  if (picture.message.height === 13) throw new TypeError('a bug, played');
  return camera.call(this, slot, picture, ...rest);
};
