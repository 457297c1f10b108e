package signalbox.policy.time_windows_test

import data.signalbox.policy.time_windows

at(labels, weekday, hour) := {
	"workspace": {"labels": labels},
	"local_time": {"Europe/Berlin": {"weekday": weekday, "hour": hour}},
}

days := ["monday", "friday", "saturday", "sunday"]

hours := [0, 7, 8, 12, 17, 18, 23]

test_unlabelled_workspace_has_no_window[[day, hour]] if {
	some day in days
	some hour in hours
	time_windows.pass.office_hours with input as at(["eu"], day, hour)
	time_windows.pass.off_peak with input as at(["eu"], day, hour)
}

test_office_hours_are_the_day_on_working_days[[day, hour]] if {
	some day in ["monday", "friday"]
	some hour in [8, 12, 17]
	time_windows.pass.office_hours with input as at(["office-hours"], day, hour)
	not time_windows.pass.off_peak with input as at(["off-peak"], day, hour)
}

test_evenings_and_nights_are_off_peak[[day, hour]] if {
	some day in days
	some hour in [0, 7, 18, 23]
	not time_windows.pass.office_hours with input as at(["office-hours"], day, hour)
	time_windows.pass.off_peak with input as at(["off-peak"], day, hour)
}

test_weekends_are_off_peak[[day, hour]] if {
	some day in ["saturday", "sunday"]
	some hour in hours
	not time_windows.pass.office_hours with input as at(["office-hours"], day, hour)
	time_windows.pass.off_peak with input as at(["off-peak"], day, hour)
}

test_both_labels_leave_no_window[[day, hour]] if {
	some day in days
	some hour in hours
	windows := {"office-hours", "off-peak"}
	passing := [true |
		time_windows.pass.office_hours with input as at(windows, day, hour)
		time_windows.pass.off_peak with input as at(windows, day, hour)
	]
	count(passing) == 0
}

test_without_a_clock_no_window_is_open if {
	not time_windows.pass.office_hours with input as {"workspace": {"labels": ["office-hours"]}}
	not time_windows.pass.off_peak with input as {"workspace": {"labels": ["off-peak"]}}
}

test_reason_tells_weekends_apart if {
	time_windows.reason.office_hours == "OUTSIDE_WORKING_DAYS" with input as at(["office-hours"], "sunday", 10)
	not time_windows.reason.office_hours with input as at(["office-hours"], "monday", 3)
}
