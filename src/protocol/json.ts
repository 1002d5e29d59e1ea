/** Values that survive a round trip through JSON unchanged. Everything durable is one of these. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject

export interface JsonObject {
  readonly [key: string]: Json | undefined
}
