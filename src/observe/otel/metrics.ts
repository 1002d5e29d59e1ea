/** The metrics of model calls: tokens and durations. */
import type { Attributes, Histogram, Meter } from '@opentelemetry/api'
import type { Usage } from '../../protocol/index.ts'
import type { Api } from './api.ts'
import { ATTRIBUTE, SCHEMA_URL, SCOPE } from './names.ts'
import type { OtelOptions } from './options.ts'

/** Bucket boundaries as the conventions advise them. */
const TOKENS = [1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864]
const SECONDS = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92]

export interface ModelCallMeasure {
  readonly attributes: Attributes
  readonly seconds: number
  readonly usage?: Usage | undefined
  readonly errorType?: string | undefined
}

export type ModelMetrics = (call: ModelCallMeasure) => void

export function modelMetrics(api: Api, { meter }: OtelOptions): ModelMetrics {
  const instruments = currentInstruments(api, meter as Meter | undefined)
  return ({ attributes, seconds, usage, errorType }) => {
    const { tokens, duration } = instruments()
    const failed = errorType === undefined ? {} : { [ATTRIBUTE.errorType]: errorType }
    duration.record(seconds, { ...attributes, ...failed })
    if (usage === undefined || usage.inputTokens + usage.outputTokens === 0) return
    tokens.record(usage.inputTokens, { ...attributes, [ATTRIBUTE.tokenType]: 'input' })
    tokens.record(usage.outputTokens, { ...attributes, [ATTRIBUTE.tokenType]: 'output' })
  }
}

interface Instruments {
  readonly tokens: Histogram
  readonly duration: Histogram
}

/** The API has no stand-in for a provider that is registered later, so the provider is looked up each time. */
function currentInstruments(api: Api, own: Meter | undefined): () => Instruments {
  let made: { readonly of: unknown; readonly instruments: Instruments } | undefined
  return () => {
    const of = own ?? api.metrics.getMeterProvider()
    if (made?.of !== of) {
      const meter = own ?? api.metrics.getMeter(SCOPE, undefined, { schemaUrl: SCHEMA_URL })
      made = { of, instruments: instrumentsOf(meter) }
    }
    return made.instruments
  }
}

function instrumentsOf(meter: Meter): Instruments {
  return {
    tokens: meter.createHistogram('gen_ai.client.token.usage', {
      unit: '{token}',
      description: 'Number of input and output tokens used.',
      advice: { explicitBucketBoundaries: TOKENS },
    }),
    duration: meter.createHistogram('gen_ai.client.operation.duration', {
      unit: 's',
      description: 'GenAI operation duration.',
      advice: { explicitBucketBoundaries: SECONDS },
    }),
  }
}
