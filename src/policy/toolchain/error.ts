/** What keeps the Rego toolchain from running at all. A fault in a policy is never one of these; it is a finding. */
export type ToolchainErrorCode = "ARTEFACT_MISSING" | "ARTEFACT_DAMAGED" | "TOOLCHAIN_TIMEOUT" | "TOOLCHAIN_FAILED";

/** The message names files of the installation and what to do; it never holds anything of a policy. */
export class ToolchainError extends Error {
  override readonly name = "ToolchainError";
  readonly code: ToolchainErrorCode;
  constructor(code: ToolchainErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}
