/** The types of the AI SDK's provider interface, against ours. */
import type { LanguageModelV3, LanguageModelV4 } from '@ai-sdk/provider'
import { expectTypeOf, it } from 'vitest'
import type { LanguageModel, ModelCall } from './index.ts'

it('takes a model of interface version 3 or 4 without a cast', () => {
  expectTypeOf<LanguageModelV3>().toExtend<LanguageModel>()
  expectTypeOf<LanguageModelV4>().toExtend<LanguageModel>()
  expectTypeOf<Parameters<LanguageModelV3['doStream']>[0]>().toExtend<ModelCall>()
  expectTypeOf<Parameters<LanguageModelV4['doStream']>[0]>().toExtend<ModelCall>()
})
