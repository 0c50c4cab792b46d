/** Who comes first on a busy machine: the thread that commands, then pictures, then (in its own process) the model. */
import { constants, getPriority, setPriority } from 'node:os';

/**
 * Puts this thread, and those it starts from now on, before ordinary ones where the user may do so: root, or a limit
 * `nice` in limits.conf (LimitNICE of systemd). Who has no such right, or has chosen a priority himself, keeps what he
 * has. To be called before ROS starts its threads.
 */
export function comeFirst(): void {
  if (getPriority() !== constants.priority.PRIORITY_NORMAL) return;
  try {
    setPriority(constants.priority.PRIORITY_HIGH);
  } catch {
    // Without the right the node works as well as other processes let it.
  }
}
