# METADATA
# scope: package
# title: Workspaces labelled office-hours are used in office hours only, those labelled off-peak outside of them
# custom:
#   signalbox:
#     contract: 1
#     id: time-windows
#     owners: [group:platform]
#     constraints:
#       office_hours: {effect: gate, reasons: [OUTSIDE_OFFICE_HOURS, OUTSIDE_WORKING_DAYS]}
#       off_peak: {effect: gate, reasons: [IN_OFFICE_HOURS]}
package signalbox.policy.time_windows

# Values that routes.yaml may declare later.
# signalbox: later office-hours, off-peak

clock := input.local_time["Europe/Berlin"]

weekend if clock.weekday in {"saturday", "sunday"}

# From 08:00 to 17:59.
peak if {
	not weekend
	clock.hour >= 8
	clock.hour < 18
}

# Written out, not as `not peak`: without a clock, no window is open.
quiet if weekend

quiet if clock.hour < 8

quiet if clock.hour >= 18

labelled(label) if label in input.workspace.labels

pass["office_hours"] if not labelled("office-hours")

pass["office_hours"] if peak

pass["off_peak"] if not labelled("off-peak")

pass["off_peak"] if quiet

reason["office_hours"] := "OUTSIDE_WORKING_DAYS" if weekend
