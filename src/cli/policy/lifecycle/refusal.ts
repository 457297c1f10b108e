import { objectOf, textOf } from "../../terminal/read-answer.ts";
import { KEY_NOT_ACCEPTED, type ServerAnswer } from "../../terminal/call-server.ts";
import { CommandError } from "../../terminal/command-io.ts";

/** Nothing is broken, and nothing was done: something is missing, or another change was first. Exit code 3. */
export class NotNowError extends Error {
  override readonly name = "NotNowError";
}

/** The command as typed. */
interface RequestedChange {
  /** Policy id; `null` where it was about all. */
  readonly policy: string | null;
  readonly changes: boolean;
}

/** An error answer for the user of the terminal: the server's message and fix, with the policy's id in commands. */
export function refusal(
  { status, body }: ServerAnswer,
  { policy, changes }: RequestedChange,
): CommandError | NotNowError {
  const error = objectOf(body, "error");
  const code = textOf(error, "code").slice(0, 64);
  const message = textOf(error, "message").slice(0, 500);
  const fix = textOf(error, "fix")
    .slice(0, 500)
    .replaceAll(/\bID\b/g, policy ?? "ID");
  const text = [message, fix].filter((part) => part !== "").join(" ");
  if (status === 401) return new CommandError(KEY_NOT_ACCEPTED);
  if (status === 404 && !code.endsWith("_not_found")) {
    return new CommandError(
      "--server: has no /v1/policies (404); it is not Signalbox, is older than this command, or its address has another path",
    );
  }
  if (status === 409 || status === 412) return new NotNowError(`${text || code}${changes ? " Nothing was done." : ""}`);
  if (status === 403 && text !== "") return new CommandError(`SIGNALBOX_KEY: ${text}`);
  return new CommandError(
    `--server: answered with ${status}${code === "" ? "" : `, ${code}`}${text === "" ? "" : `: ${text}`}`,
  );
}
