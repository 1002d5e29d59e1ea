/** `holdfast/testing`: stand-ins, and the suites that ports must pass. Needs no test runner of its own. */
export { CountingIds } from './counting-ids.ts'
export type { ExploreOptions } from './explore/explore.ts'
export { explore, replay } from './explore/explore.ts'
export type {
  Faults,
  Move,
  Operation,
  Port,
  Process,
  ProcessStatus,
  Report,
  Scenario,
  Stage,
  Violation,
  World,
} from './explore/scenario.ts'
export type { StorePortOptions } from './explore/store-port.ts'
export { storePort } from './explore/store-port.ts'
export type { ControlledProcessOptions, ProcessEnd } from './faults/controlled-process.ts'
export { ControlledProcess, freeze, thaw } from './faults/controlled-process.ts'
export type { ModelFault } from './faults/faulty-model.ts'
export { faultyModel } from './faults/faulty-model.ts'
export { killSelf } from './faults/kill-self.ts'
export type { Fault } from './faulty-store.ts'
export { faultyStore } from './faulty-store.ts'
export { ManualClock } from './manual-clock.ts'
export type { RecordedModel, RecordedModelOptions } from './recorded-model.ts'
export { recordedModel } from './recorded-model.ts'
export type { ScriptedModelOptions, ScriptedStep } from './scripted-model.ts'
export { ScriptedModel } from './scripted-model.ts'
export type {
  ContractCase,
  OpenOptions,
  StoreDamage,
  StoreHarness,
  StoreWorker,
} from './store-contract/index.ts'
export { storeContract, whySkipped } from './store-contract/index.ts'
export type { MemoryArtifacts } from './tool-context.ts'
export { memoryArtifacts, standInContext } from './tool-context.ts'
export type { Vendor } from './vendors/check-vendor-request.ts'
export { checkVendorRequest } from './vendors/check-vendor-request.ts'
export type { VendorRequest } from './vendors/vendor-requests.ts'
export { vendorRequests } from './vendors/vendor-requests.ts'
