import type { NodeAnswer } from "../node-answer.ts";
import type { Share } from "./joined.ts";

/** How the wait for a piece of work ended. */
export interface Waited<Result> {
  readonly end: "answered" | "gone" | "deadline";
  /** `null` where the work goes on for others. */
  readonly work: Result | null;
}

/** Milliseconds that the work gets to say by itself that its deadline has passed: it says more. */
const GRACE = 100;

/** Waits for the work's end, the client's leaving, or the request's deadline, whichever is first. Work that nobody else waits for ends with the wait. */
export function waitFor<Result>(share: Share<Result>, client: NodeAnswer, deadline: number): Promise<Waited<Result>> {
  return new Promise((resolve, reject) => {
    let end: Waited<Result>["end"] = "answered";
    const giveUp = (why: "gone" | "deadline"): void => {
      clearTimeout(timer);
      end = why;
      // Work that ends with its last client ends at once, and says what its calls came to.
      if (!share.leave()) resolve({ end, work: null });
    };
    // The work of another request has another deadline: this one's is kept to the millisecond.
    const grace = share.joined === null ? GRACE : 0;
    const timer = setTimeout(() => giveUp("deadline"), Math.max(deadline - performance.now(), 0) + grace);
    client.onClose(() => giveUp("gone"));
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
