/**
 * Every answer has the same time, so that they can be compared byte by byte: 2026-01-01T00:00:00Z,
 * in seconds.
 */
export const CREATED = 1_767_225_600;
