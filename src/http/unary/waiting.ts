import type { NodeAnswer } from "../node-answer.ts";
import type { ServiceError } from "../../canon/error.ts";
import type { StopReason, StopSource } from "../../dispatch/stop-order.ts";
import type { Share } from "./joined.ts";

/** How the wait for a piece of work ended. */
export interface Waited<Result> {
  readonly end: "answered" | "gone" | "deadline" | "unrecorded" | StopReason;
  /** `null` where the work goes on for others. */
  readonly work: Result | null;
}

const GIVEN_UP = {
  gone: "client_closed",
  deadline: "client_closed",
  unrecorded: "abandoned",
  server_stopping: "server_stopping",
  key_revoked: "key_revoked",
} as const;

/** Milliseconds that the work gets to say by itself that its deadline has passed: it says more. */
const GRACE = 100;

/**
 * Waits for the work's end, the client's leaving, the request's deadline, that its decision cannot be recorded, or the end of the server or of the key, whichever is first. Work
 * that no other request waits for ends with the wait.
 *
 * @param recorded resolves with an error where the decision is not on disk in time.
 * @param stopOrder never given where absent.
 */
export function waitFor<Result>(
  share: Share<Result>,
  client: NodeAnswer,
  deadline: number,
  recorded: Promise<ServiceError | null>,
  stopOrder?: StopSource,
): Promise<Waited<Result>> {
  return new Promise((resolve, reject) => {
    let end: Waited<Result>["end"] = "answered";
    let forget: (() => void) | undefined;
    const giveUp = (why: Exclude<Waited<Result>["end"], "answered">): void => {
      clearTimeout(timer);
      forget?.();
      end = why;
      // Work that ends with its last client ends at once, and says what its calls came to.
      if (!share.leave(GIVEN_UP[why])) resolve({ end, work: null });
    };
    // The work of another request has another deadline: this one's is kept to the millisecond.
    const grace = share.joined === null ? GRACE : 0;
    const timer = setTimeout(() => giveUp("deadline"), Math.max(deadline - performance.now(), 0) + grace);
    client.onClose(() => giveUp("gone"));
    void recorded.then((error) => {
      if (error !== null) giveUp("unrecorded");
    });
    forget = stopOrder?.onGiven(({ reason, running }) => {
      if (running === "end") giveUp(reason);
    });
    const settled = (): void => {
      clearTimeout(timer);
      forget?.();
      share.leave();
    };
    share.result.then(
      (work) => {
        settled();
        resolve({ end, work });
      },
      (error: unknown) => {
        settled();
        reject(error);
      },
    );
  });
}
