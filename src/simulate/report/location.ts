import type { SideName } from "../sample-request.ts";

export interface SourceLocation {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/** A location in the files of one side. */
export interface SideLocation extends SourceLocation {
  readonly side: SideName;
}
