import type { NodeAnswer } from "../node-answer.ts";
import type { ServiceError } from "../../canon/error.ts";
import type { Share } from "./joined.ts";

/** How the wait for a piece of work ended. */
export interface Waited<Result> {
  readonly end: "answered" | "gone" | "deadline" | "unrecorded";
  /** `null` where the work goes on for others. */
  readonly work: Result | null;
}

/** Milliseconds that the work gets to say by itself that its deadline has passed: it says more. */
const GRACE = 100;

/**
 * Waits for the work's end, the client's leaving, the request's deadline, or that its decision cannot be recorded, whichever is first. Work
 * that nobody else waits for ends with the wait.
 *
 * @param recorded resolves with an error where the decision is not on disk in time.
 */
export function waitFor<Result>(
  share: Share<Result>,
  client: NodeAnswer,
  deadline: number,
  recorded: Promise<ServiceError | null>,
): Promise<Waited<Result>> {
  return new Promise((resolve, reject) => {
    let end: Waited<Result>["end"] = "answered";
    const giveUp = (why: "gone" | "deadline" | "unrecorded"): void => {
      clearTimeout(timer);
      end = why;
      // Work that ends with its last client ends at once, and says what its calls came to.
      if (!share.leave(why === "unrecorded" ? "abandoned" : "client_closed")) resolve({ end, work: null });
    };
    // The work of another request has another deadline: this one's is kept to the millisecond.
    const grace = share.joined === null ? GRACE : 0;
    const timer = setTimeout(() => giveUp("deadline"), Math.max(deadline - performance.now(), 0) + grace);
    client.onClose(() => giveUp("gone"));
    void recorded.then((error) => {
      if (error !== null) giveUp("unrecorded");
    });
    const settled = (): void => {
      clearTimeout(timer);
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
