/** An engine folder as what verify compares: which of its graphs, and where they run. */
import { OxygenError } from '../core/errors';
import { CudaSessions } from '../engine/cuda-sessions';
import { ModelSessions } from '../engine/model-sessions';
import { runsOn } from '../engine/open-engine';
import type { Provider } from '../engine/providers';
import { loadTensorRt } from '../engine/tensorrt-engine';
import { cpuEngine, readManifest, type Target } from '../model/manifest';
import { cpuSubject } from './cpu-subject';
import { cudaSubject } from './cuda-subject';
import type { Subject } from './subject';
import { tensorRtSubject } from './tensorrt-subject';

export interface SubjectChoice {
  /** Whose graphs; null: those that the engine was built for. */
  readonly target: Target | null;
  /** The CPU runs the graphs of every target, slowly: for checks. */
  readonly provider: Provider;
  readonly threads: number;
}

export interface OpenSubject {
  readonly subject: Subject;
  readonly target: Target;
  release(): Promise<void>;
}

/** Throws USAGE when that provider does not run those graphs, ENGINE_*, RUNTIME_VERSION. */
export async function openSubject(
  dir: string,
  { target, provider, threads }: SubjectChoice,
): Promise<OpenSubject> {
  const manifest = readManifest(dir);
  const chosen = target ?? manifest.target;
  if (provider !== 'cpu' && !runsOn(chosen).includes(provider)) {
    const message = `graphs for ${chosen} do not run on ${provider}; --provider ${runsOn(chosen).join(' or ')}, or cpu`;
    throw new OxygenError('USAGE', message);
  }
  const onCuda = provider === 'cpu' ? 'cpu' : 'cuda';
  switch (chosen) {
    case 'cpu': {
      const sessions = await ModelSessions.load(cpuEngine(dir, manifest) ?? dir, threads);
      return { subject: cpuSubject(sessions), target: chosen, release: () => sessions.release() };
    }
    case 'cuda': {
      const sessions = await CudaSessions.load(dir, threads, 0, onCuda);
      return { subject: cudaSubject(sessions), target: chosen, release: () => sessions.release() };
    }
    case 'tensorrt': {
      const on = provider === 'tensorrt' ? 'tensorrt' : 'cpu';
      const engine = await loadTensorRt(dir, threads, 0, { on }, onCuda);
      return { subject: tensorRtSubject(engine), target: chosen, release: () => engine.release() };
    }
  }
}
