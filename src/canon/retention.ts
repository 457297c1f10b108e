/** How long a provider keeps what it is sent: not at all, a stated time, or without a stated end. */
export const RETENTIONS = ["none", "transient", "days_30", "unlimited"] as const;
export type Retention = (typeof RETENTIONS)[number];
