import { useCallback, useEffect, useState } from "preact/hooks";
import { call, withQuery } from "../../api/client.ts";
import type { DecisionLine, DecisionList } from "../../api/types.ts";
import { NOTHING, SHORTEST_POLL, whenSeen, type Resource } from "../../api/use-resource.ts";

/** Decisions of a page. */
export const PAGE_SIZE = 50;

/**
 * Calls of one page: the server bounds each of them, and a rare filter would need thousands for the
 * whole log.
 */
const MOST_CALLS = 20;

/** Milliseconds between two readings of the newest page. */
const EVERY = 2 * SHORTEST_POLL;

/** Content of a page. */
export interface Found {
  readonly data: readonly DecisionLine[];
  readonly nextCursor: string | null;
  /** Arrival of the oldest request that was looked at. */
  readonly searchedTo: string | null;
}

/**
 * The decisions after a cursor. Each call reads a bounded part of the log; calls follow each other
 * until the page is full, the log ends, or {@link MOST_CALLS} were made. Shows the decisions found
 * so far. The newest page is read again while it is seen, unless it took several calls.
 *
 * @param query without cursor and limit.
 */
export function useSearch(
  query: Readonly<Record<string, string | null | undefined>>,
  cursor: string | null,
): Resource<Found> {
  const [state, setState] = useState<Omit<Resource<Found>, "reload">>({
    ...NOTHING,
    loading: true,
  });
  const [turn, setTurn] = useState(0);
  const about = JSON.stringify([query, cursor]);
  useEffect(() => {
    const controller = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    setState((before) => ({ ...before, loading: true }));

    const search = async (): Promise<void> => {
      const data: DecisionLine[] = [];
      let next = cursor;
      for (let calls = 1; calls <= MOST_CALLS; calls += 1) {
        const path = withQuery("/v1/decisions", {
          ...query,
          cursor: next,
          limit: PAGE_SIZE - data.length,
        });
        const result = await call<DecisionList>(path, { signal: controller.signal });
        if (controller.signal.aborted) return;
        if (!result.ok) {
          setState((before) => ({ ...before, failure: result.failure, loading: false }));
          if (calls === 1) timer = whenSeen(search, EVERY, controller.signal);
          return;
        }
        data.push(...result.value.data);
        next = result.value.next_cursor;
        const isOver = next === null || data.length >= PAGE_SIZE || calls === MOST_CALLS;
        const value = { data: [...data], nextCursor: next, searchedTo: result.value.searched_to };
        setState({ ...NOTHING, value, at: Date.now(), loading: !isOver });
        if (isOver && calls === 1 && cursor === null)
          timer = whenSeen(search, EVERY, controller.signal);
        if (isOver) return;
      }
    };
    void search();
    return () => {
      controller.abort();
      clearTimeout(timer);
    };
  }, [about, turn]);
  const reload = useCallback(() => setTurn((before) => before + 1), []);
  return { ...state, reload };
}
