# METADATA
# scope: package
# title: Points that are added
# custom:
#   signalbox:
#     contract: 1
#     id: style-score
#     owners: [group:platform]
#     constraints:
#       ok: {effect: gate, reasons: [DENIED]}
package signalbox.policy.style_score

points contains ["effort", 3] if input.request.reasoning_effort in {"high", "xhigh", "max"}

points contains ["context", 2] if input.request.context in {"to_200k", "to_1m", "over_1m"}

points contains ["output", 2] if input.request.max_output in {"to_64k", "to_200k", "to_1m", "over_1m"}

points contains ["stream", 1] if not input.request.stream

points contains ["batch", 1] if input.key.workload == "batch"

score := sum([number | some [_, number] in points])

pass.ok if score < 6
# head: pass.ok if score < 5
