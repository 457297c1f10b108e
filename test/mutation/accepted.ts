/** Mutants that may survive, by file and change (`describeMutant`), each with the reason. Every other survivor is red. */
export const ACCEPTED: Readonly<Record<string, Readonly<Record<string, string>>>> = {};
