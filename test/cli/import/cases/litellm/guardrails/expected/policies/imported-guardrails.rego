# METADATA
# scope: package
# title: Routes whose guardrails were not imported serve only callers that have another guardrail
# custom:
#   signalbox:
#     contract: 1
#     id: imported-guardrails
#     owners: [group:platform]
#     constraints:
#       guardrail_replaced: {effect: gate, reasons: [GUARDRAIL_NOT_REPLACED]}
package signalbox.policy.imported_guardrails

# Routes of which the source checked the content of requests or answers.
guarded := {"safe"}

held contains label if some label in input.workspace.labels

held contains label if some label in input.key.labels

pass.guardrail_replaced if not input.request.route in guarded

# Label of keys whose callers check content themselves.
pass.guardrail_replaced if "guardrails-replaced" in held
