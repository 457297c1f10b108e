import { useEffect, useState } from "preact/hooks";
import type { Result } from "../../api/client.ts";

/**
 * Answers of calls that are made one after the other. A forbidden one concerns its own key; another
 * failure ends the rest.
 *
 * @param ask `null`: there is nothing to call for the key.
 */
export function useInTurn<Value>(
  keys: readonly string[],
  ask: (key: string, signal: AbortSignal) => Promise<Result<Value>> | null,
): ReadonlyMap<string, Result<Value>> {
  const [found, setFound] = useState<ReadonlyMap<string, Result<Value>>>(new Map());
  useEffect(() => {
    const controller = new AbortController();
    const askAll = async (): Promise<void> => {
      for (const key of keys) {
        const result = found.has(key) ? null : await ask(key, controller.signal);
        if (controller.signal.aborted) return;
        if (result === null) continue;
        setFound((before) => new Map([...before, [key, result]]));
        if (!result.ok && result.failure.status !== 403) return;
      }
    };
    void askAll();
    return () => controller.abort();
  }, [JSON.stringify(keys)]);
  return found;
}
