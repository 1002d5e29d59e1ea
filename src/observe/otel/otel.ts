/** Makes the observer that turns become spans and metrics by. */
import type { Telemetry } from '../../loop/index.ts'
import { checkOptions } from '../../protocol/index.ts'
import { loadApi } from './api.ts'
import { ConversationSpans } from './conversation-spans.ts'
import { modelMetrics } from './metrics.ts'
import { OTEL_OPTIONS, type OtelOptions } from './options.ts'
import { Tracing } from './tracing.ts'

/**
 * Spans and metrics of agents and graphs, by the OpenTelemetry conventions for generative AI. Pass it as `telemetry`; what
 * runs below inherits it. Throws `missing-package` without @opentelemetry/api.
 */
export function otel(options: OtelOptions = {}): Telemetry {
  checkOptions(options, OTEL_OPTIONS)
  const api = loadApi()
  const metrics = modelMetrics(api, options)
  return { context: (of) => new ConversationSpans(new Tracing({ api, options, of }), metrics) }
}
