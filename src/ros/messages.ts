/** The ROS messages of the node as plain data: only the fields that are used. Shared by live topics and bags. */

export interface TimeMessage {
  readonly sec: number;
  readonly nanosec: number;
}

export interface HeaderMessage {
  readonly stamp: TimeMessage;
}

export interface ImageMessage {
  readonly header: HeaderMessage;
  readonly height: number;
  readonly width: number;
  readonly encoding: string;
  readonly step: number;
  readonly data: Uint8Array;
}

export interface CompressedImageMessage {
  readonly header: HeaderMessage;
  readonly format: string;
  readonly data: Uint8Array;
}

export interface JointStateMessage {
  readonly header: HeaderMessage;
  readonly name: readonly string[];
  readonly position: ArrayLike<number>;
}

export interface StringMessage {
  readonly data: string;
}

/** oxygen_vla/msg/LanguageRequest. */
export interface LanguageRequestMessage {
  readonly id: string;
  readonly text: string;
  readonly max_tokens: number;
  readonly temperature: number;
  /** 0 is off, as for top_p. */
  readonly top_k: number;
  readonly top_p: number;
  readonly seed: bigint | number;
  readonly priority: number;
  readonly deadline: TimeMessage;
  readonly keep_on_instruction: boolean;
}

export const toNs = (stamp: TimeMessage): bigint =>
  BigInt(stamp.sec) * 1_000_000_000n + BigInt(stamp.nanosec);

export const fromNs = (ns: bigint): TimeMessage => {
  const nanosec = ((ns % 1_000_000_000n) + 1_000_000_000n) % 1_000_000_000n;
  return { sec: Number((ns - nanosec) / 1_000_000_000n), nanosec: Number(nanosec) };
};
