/** OpenTelemetry for turns: `holdfast/otel`. Loads @opentelemetry/api when `otel` is called, and no SDK. */
export type { OtelMeter, OtelOptions, OtelTracer } from './options.ts'
export { otel } from './otel.ts'
