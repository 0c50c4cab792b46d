/** A model run as one step of the policy. */
import { catchError, map, of, type Observable } from 'rxjs';
import { toOxygenError, type OxygenError } from './errors';

/** The run's one result is committed, or its failure (or the commit's) handled; either way the policy goes on. */
export function settle<T>(
  run: Observable<T>,
  commit: (result: T) => void,
  failed: (error: OxygenError) => void,
): Observable<unknown> {
  return run.pipe(
    map(commit),
    catchError(error => {
      failed(toOxygenError(error, 'RUN_FAILED'));
      return of(null);
    }),
  );
}
