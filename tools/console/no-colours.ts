/** `styleText` of node:util for the console, whose reports have no colours of a terminal. */
export const styleText = (_styles: unknown, text: string): string => text;
