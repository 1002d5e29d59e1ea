/** The options of `otel`. Their types name no package: declarations compile without @opentelemetry/api. */
import type { ObservedContext } from '../../loop/index.ts'
import type { OptionSet } from '../../protocol/index.ts'

export interface OtelOptions {
  /** Default: a tracer of the registered provider. */
  readonly tracer?: OtelTracer
  /** Default: a meter of the registered provider. */
  readonly meter?: OtelMeter
  /** Records messages, system prompts, tool definitions, arguments and results. Default: false. Secrets are removed. */
  readonly captureContent?: boolean
  /** Attributes of every span of a conversation, such as `user.id`. */
  readonly attributes?: (of: ObservedContext) => Readonly<Record<string, string | number | boolean>>
}

/** A `Tracer` of @opentelemetry/api. */
export interface OtelTracer {
  startSpan(name: string, ...more: never[]): object
}

/** A `Meter` of @opentelemetry/api. */
export interface OtelMeter {
  createHistogram(name: string, ...more: never[]): object
}

export const OTEL_OPTIONS: OptionSet<OtelOptions> = {
  place: 'otel()',
  options: {
    tracer: 'an object',
    meter: 'an object',
    captureContent: 'true or false',
    attributes: 'a function',
  },
}
