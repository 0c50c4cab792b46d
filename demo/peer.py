"""What the Python peers of the demo share: arguments, the end of the process, and the executor."""

import os
import signal
import sys


def split_ros_args(argv):
    """(own arguments, ROS arguments): everything from --ros-args on belongs to ROS."""
    cut = argv.index('--ros-args') if '--ros-args' in argv else len(argv)
    return argv[:cut], argv[cut:]


def watch_for_end():
    """A function that turns true on SIGINT, SIGTERM or SIGHUP, or when the parent process is gone."""
    received = []
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: received.append(True))
    parent = os.getppid()
    return lambda: bool(received) or os.getppid() != parent


def ordinary_executor():
    """For subscriptions that ask for the times of a message: the faster one cannot tell them."""
    from rclpy.executors import SingleThreadedExecutor

    return SingleThreadedExecutor()


def fast_executor():
    """Costs a third of the ordinary one; not in every ROS 2 distribution."""
    try:
        from rclpy.experimental.events_executor import EventsExecutor
    except ImportError:
        return ordinary_executor()
    return EventsExecutor()


def start_ros(ros_args, make_node, make_executor=fast_executor):
    """(node, executor, close) with signals left to `watch_for_end`."""
    import rclpy
    from rclpy.signals import SignalHandlerOptions

    rclpy.init(args=ros_args, signal_handler_options=SignalHandlerOptions.NO)
    node, executor = make_node(), make_executor()
    executor.add_node(node)

    def close():
        executor.shutdown()
        node.destroy_node()
        rclpy.shutdown()

    return node, executor, close


def complain(text):
    print(text, file=sys.stderr, flush=True)
