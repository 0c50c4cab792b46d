/** All platforms, by the name that a robot file gives. */
import type { PlatformName } from '../../core/robot';
import { aloha } from './aloha';
import { arx } from './arx';
import { droid } from './droid';
import { libero } from './libero';
import { none } from './none';
import type { Platform } from './platform';

export type { Platform } from './platform';

export const PLATFORMS: Readonly<Record<PlatformName, Platform>> = { none, libero, droid, aloha, arx };
