"""usage: python3 peer.py talk | listen

talk: publishes LanguageRequest until it is ended. listen: prints the first ActionChunk as JSON and ends.
"""
import json
import sys

import rclpy
from oxygen_vla.msg import ActionChunk, LanguageRequest

rclpy.init()
node = rclpy.create_node('peer_py')
if sys.argv[1] == 'talk':
    publisher = node.create_publisher(LanguageRequest, 'request', 10)
    request = LanguageRequest(id='a', text='Größe: ', max_tokens=-1, temperature=0.5, seed=2**64 - 1)
    request.priority = -2147483648
    request.top_k = 40
    request.top_p = 0.25
    request.deadline.sec = 3
    request.keep_on_instruction = True
    node.create_timer(0.05, lambda: publisher.publish(request))
    rclpy.spin(node)
else:
    received = []
    node.create_subscription(ActionChunk, 'chunk', received.append, 10)
    while not received:
        rclpy.spin_once(node, timeout_sec=0.1)
    chunk = received[0]
    print(json.dumps({
        'stamp': [chunk.stamp.sec, chunk.stamp.nanosec],
        'observation_stamp': [chunk.observation_stamp.sec, chunk.observation_stamp.nanosec],
        'dt': chunk.dt,
        'names': list(chunk.names),
        'kinds': list(chunk.kinds),
        'horizon': chunk.horizon,
        'values': list(chunk.values),
        'epoch': chunk.epoch,
    }))
    rclpy.try_shutdown()
