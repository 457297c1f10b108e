import { useState } from "preact/hooks";
import type { Failure, Result } from "./client.ts";

/** A change that the reader requests. */
export interface Action<Value> {
  readonly busy: boolean;
  /** Failure of the newest run; `null` after a success or before the first one. */
  readonly failure: Failure | null;
  readonly run: (change: () => Promise<Result<Value>>) => Promise<Value | null>;
}

/** @param done called with the answer of a change that succeeded. */
export function useAction<Value>(done?: (value: Value) => void): Action<Value> {
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<Failure | null>(null);
  const run = async (change: () => Promise<Result<Value>>): Promise<Value | null> => {
    setBusy(true);
    const result = await change();
    setBusy(false);
    setFailure(result.ok ? null : result.failure);
    if (!result.ok) return null;
    done?.(result.value);
    return result.value;
  };
  return { busy, failure, run };
}
