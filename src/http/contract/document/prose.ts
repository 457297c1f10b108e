/** What stands above the endpoints, in Markdown. */
export const DESCRIPTION = `Signalbox takes requests for inference in four protocols, decides by a routing table and by policies which endpoints may serve them, and relays or translates them.

**Errors.** Under \`/api/\` an error is an \`AnthropicError\`, at \`/v1/credentials/exchange\` an \`OAuthError\` (RFC 6749), everywhere else an \`Error\`. Paths and methods that are not listed here are answered with 404 (\`unknown_path\`, or \`not_supported\` for stored objects, which do not exist here).

**Before a path is known**, errors have the shape of \`Error\` and no headers but the request id and those of the body: 400 \`malformed_request\`, 408 \`header_timeout\`, 413 \`request_too_large\` (chunk extensions), 431 \`headers_too_large\`.

**Streams.** A 200 with \`text/event-stream\` means only that an answer has begun; the last event of each stream shows whether the answer is complete. Its \`schema\` describes one event of the stream: \`event\` is the name, \`data\` a text with JSON, whose schema is under \`contentSchema\`.

**Web pages.** If a key may be exchanged for tokens that are bound to an origin, pages of that origin get the CORS headers, and their preflights (OPTIONS) an empty 204.

\`info.version\` counts changes that break clients; it is not the version of the program. \`contract_sha256\` of GET /status is the SHA-256 of this document in its canonical form (RFC 8785).`;

/** Of the first contract; it changes where a change breaks clients. */
export const CONTRACT_VERSION = "1.0.0";
