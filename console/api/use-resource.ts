import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { call, type Failure } from "./client.ts";
import { showsAll, signedIn } from "./session-state.ts";

/**
 * An answer of the API that is fetched again when its path changes, and while the page is seen
 * every so often.
 */
export interface Resource<Value> {
  /** The newest answer; the one before stays while another is fetched. */
  readonly value: Value | null;
  /** When it came, milliseconds since the epoch. */
  readonly at: number | null;
  /** Failure of the newest call; `null` after a success. */
  readonly failure: Failure | null;
  readonly etag: string | null;
  readonly loading: boolean;
  readonly reload: () => void;
}

export const NOTHING = { value: null, at: null, failure: null, etag: null } as const;

/** Milliseconds; the shortest time between two calls of one resource. */
export const SHORTEST_POLL = 5_000;

/** Runs after some milliseconds, and not before the page is seen. */
export function whenSeen(
  run: () => Promise<void>,
  after: number,
  signal: AbortSignal,
): ReturnType<typeof setTimeout> {
  const runSeen = (): void => {
    if (document.visibilityState === "visible") void run();
    else document.addEventListener("visibilitychange", runSeen, { once: true, signal });
  };
  return setTimeout(runSeen, after);
}

/**
 * @param path `null`: nothing is fetched.
 * @param every milliseconds between polls, at least {@link SHORTEST_POLL}; not polled where absent.
 * A hidden page does not poll. @param of another workspace than the one that is shown.
 */
export function useResource<Value>(
  path: string | null,
  every?: number,
  of: string | null = null,
): Resource<Value> {
  const [state, setState] = useState<Omit<Resource<Value>, "reload">>({
    ...NOTHING,
    loading: path !== null,
  });
  const [turn, setTurn] = useState(0);
  const shown = useRef<string | null>(null);
  const workspace = signedIn()?.workspace;
  const isAll = showsAll.value;

  useEffect(() => {
    if (path === null) return undefined;
    const controller = new AbortController();
    const about = `${isAll ? "*" : workspace} ${path}`;
    // Another workspace's or page's numbers must not be read as this one's.
    const keep = shown.current === null || bare(shown.current) === bare(about);
    shown.current = about;
    setState((before) => ({
      ...(keep ? before : NOTHING),
      loading: true,
    }));
    let timer: ReturnType<typeof setTimeout> | undefined;

    const fetchOnce = async (): Promise<void> => {
      const result = await call<Value>(path, {
        signal: controller.signal,
        ...(of !== null && { workspace: of }),
      });
      if (controller.signal.aborted) return;
      setState((before) =>
        result.ok
          ? {
              value: result.value,
              at: Date.now(),
              failure: null,
              etag: result.etag,
              loading: false,
            }
          : { ...before, failure: result.failure, loading: false },
      );
      if (every !== undefined)
        timer = whenSeen(fetchOnce, Math.max(SHORTEST_POLL, every), controller.signal);
    };
    void fetchOnce();
    return () => {
      controller.abort();
      clearTimeout(timer);
    };
  }, [path, workspace, isAll, every, turn, of]);

  const reload = useCallback(() => {
    setTurn((before) => before + 1);
  }, []);
  return { ...state, reload };
}

/**
 * Workspace and path without the query: a filter keeps the lines that are shown until the new ones
 * are there.
 */
const bare = (about: string): string => about.split("?")[0] ?? about;
