/** Tools: their contract, the checking, running and settling of one call, and their artifacts. */

export type { AiTool, AiToolOptions, ToolSet, ToolsOption } from './ai-tool.ts'
export { aiTool, toolsFrom } from './ai-tool.ts'
export type { AnsweredRequest, Confirmation } from './answer.ts'
export { answerTo, checkAnswer, confirmationIn } from './answer.ts'
export { answerFrom, optionText } from './answer-text.ts'
export { approvalOf, usualQuestion } from './approval.ts'
export { argumentsKey } from './arguments-key.ts'
export type {
  ArtifactContent,
  ArtifactPort,
  Artifacts,
  ConversationArtifacts,
  DatasetOptions,
  FileOptions,
} from './artifact.ts'
export { artifacts } from './artifact.ts'
export type { ArtifactValue } from './artifact-content.ts'
export type { AskUserInput, AskUserOutput } from './ask-user.ts'
export { askUser } from './ask-user.ts'
export { markNames, markProblem } from './check-marks.ts'
export type { ClientToolDefinition } from './client-tool.ts'
export { clientTool } from './client-tool.ts'
export { controlTool, isControlTool } from './control-tool.ts'
export type { Credentials } from './credentials.ts'
export { REDACTED, secretsInText } from './credentials.ts'
export { cutOutput } from './cut-output.ts'
export { defineTool } from './define-tool.ts'
export type { AskedRequest, CallEnd } from './finish-call.ts'
export { foldedName } from './folded-name.ts'
export type { SchemaCheck } from './json-schema.ts'
export { jsonSchema, schemaCheck } from './json-schema.ts'
export { keyedQueue } from './keyed-queue.ts'
export type {
  ApprovalPolicy,
  Approvals,
  CallDecision,
  NamedPolicy,
  PolicyCall,
  PolicyDecision,
} from './policy.ts'
export { decideCall } from './policy.ts'
export type { Prepared, RequestedCall } from './prepare-call.ts'
export { checkTools, prepareCall } from './prepare-call.ts'
export { previewOf } from './preview.ts'
export { NO_SECRETS, Redactor, redactorOf } from './redact.ts'
export { requestText } from './request-text.ts'
export type { Ask, AskKind, AskRequest, ToolResult, ToolResultOptions } from './result.ts'
export { ask, askBelow, askedBy, FROM_BELOW, toolResult } from './result.ts'
export type { CallRun } from './run-call.ts'
export { callsAround, inputOrigin, runAround, runCall, verifyCall } from './run-call.ts'
export type { SchemaNode } from './schema-node.ts'
export { itemSchemas, refOf, schemaNode } from './schema-node.ts'
export type { Secret } from './secret-forms.ts'
export { shownInput } from './shown-input.ts'
export type {
  SchemaInput,
  SchemaOutput,
  StandardIssue,
  StandardResult,
  StandardSchema,
} from './standard-schema.ts'
export { isStandardSchema, issueLines, jsonSchemaOf, validate } from './standard-schema.ts'
export { startOnce } from './start-once.ts'
export { thrownText } from './thrown.ts'
export { toJson } from './to-json.ts'
export type {
  Approval,
  ApprovalCall,
  PreviewContext,
  PreviousTool,
  ReturnValue,
  RunReturn,
  Settled,
  Tool,
  ToolContext,
  ToolDefinition,
  ToolGrounding,
  ToolOrigin,
  VerifyResult,
} from './tool.ts'
export { UNKNOWN, UnknownOutcome } from './tool-errors.ts'
export type { Xray, XraySource } from './xray.ts'
export { XRAY, xray } from './xray.ts'
