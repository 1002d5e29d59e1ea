/** `holdfast/testing`: fakes of models, stores, clocks and tool contexts. Needs no test runner. */
export { CountingIds } from './counting-ids.ts'
export type { ModelFault } from './faulty-model.ts'
export { faultyModel } from './faulty-model.ts'
export type { Fault } from './faulty-store.ts'
export { faultyStore } from './faulty-store.ts'
export { ManualClock } from './manual-clock.ts'
export type { RecordedModel, RecordedModelOptions } from './recorded-model.ts'
export { recordedModel } from './recorded-model.ts'
export type {
  ScriptedCall,
  ScriptedError,
  ScriptedFunction,
  ScriptedModelOptions,
  ScriptedReply,
  ScriptedRequest,
  ScriptedStall,
  ScriptedStep,
  ScriptedToolCall,
} from './scripted-model.ts'
export { ScriptedModel } from './scripted-model.ts'
export type { MemoryArtifacts } from './tool-context.ts'
export { fakeToolContext, memoryArtifacts } from './tool-context.ts'
