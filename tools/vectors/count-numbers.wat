;; Counts the numbers of a JSON array 64 bytes at a time (RFC 8259, section 6). Each byte is one bit of a mask for its kind, so that a rule of the
;; grammar is one operation for 64 bytes. Only what is surely an array of finite numbers without white space is counted; a caller takes a careful
;; look at everything else (src/dialects/unary/cut-vectors.ts).
;;
;; tools/vectors/assemble.mjs writes src/dialects/unary/count-numbers.ts from this file.
(module
  ;; 256 KiB of an answer, and a page so that the last block may be read whole.
  (memory (export "memory") 5)
  ;; Offset after the closing bracket of the array that was read last.
  (global $after (export "after") (mut i32) (i32.const 0))

  ;; One bit for each of the 64 bytes at $block: set where the byte is $byte.
  (func $equal (param $block i32) (param $byte v128) (result i64)
    (i64.or
      (i64.or
        (i64.extend_i32_u (i8x16.bitmask (i8x16.eq (v128.load (local.get $block)) (local.get $byte))))
        (i64.shl (i64.extend_i32_u (i8x16.bitmask (i8x16.eq (v128.load offset=16 (local.get $block)) (local.get $byte)))) (i64.const 16)))
      (i64.or
        (i64.shl (i64.extend_i32_u (i8x16.bitmask (i8x16.eq (v128.load offset=32 (local.get $block)) (local.get $byte)))) (i64.const 32))
        (i64.shl (i64.extend_i32_u (i8x16.bitmask (i8x16.eq (v128.load offset=48 (local.get $block)) (local.get $byte)))) (i64.const 48)))))

  ;; One bit for each of 16 bytes: set where the byte is a digit.
  (func $digits16 (param $bytes v128) (result i64)
    (i64.extend_i32_u (i8x16.bitmask (i8x16.lt_u
      (i8x16.sub (local.get $bytes) (i8x16.splat (i32.const 48)))
      (i8x16.splat (i32.const 10))))))

  (func $digits (param $block i32) (result i64)
    (i64.or
      (i64.or
        (call $digits16 (v128.load (local.get $block)))
        (i64.shl (call $digits16 (v128.load offset=16 (local.get $block))) (i64.const 16)))
      (i64.or
        (i64.shl (call $digits16 (v128.load offset=32 (local.get $block))) (i64.const 32))
        (i64.shl (call $digits16 (v128.load offset=48 (local.get $block))) (i64.const 48)))))

  ;; The bits moved one byte on, with what the block before carried.
  (func $after_bits (param $bits i64) (param $carried i64) (result i64)
    (i64.or (i64.shl (local.get $bits) (i64.const 1)) (local.get $carried)))

  (func $last (param $bits i64) (result i64) (i64.shr_u (local.get $bits) (i64.const 63)))

  ;; How many numbers the array has whose first byte after the bracket is at $block. 0: it is not surely such an array. -1: it goes on at $end.
  (func (export "count") (param $block i32) (param $end i32) (result i32)
    (local $count i32)
    (local $comma i64) (local $digit i64) (local $point i64) (local $minus i64) (local $zero i64)
    (local $exponent i64) (local $plus i64) (local $close i64) (local $other i64)
    (local $within i64) (local $bad i64)
    (local $starts i64) (local $after_point i64) (local $after_exponent i64) (local $after_sign i64) (local $sign i64)
    (local $run i64) (local $t i64)
    (local $c_start i64) (local $c_point i64) (local $c_exponent i64) (local $c_sign i64) (local $c_digit i64)
    (local $c_fraction i64) (local $c_exponent_sign i64) (local $c_exponent_run i64) (local $c_exponent_digits i64)
    (local $c_minus_start i64) (local $c_zero i64) (local $without_comma i32)
    (local.set $c_start (i64.const 1))
    (loop $next
      (if (i32.ge_u (local.get $block) (local.get $end)) (then (return (i32.const -1))))
      (local.set $digit (call $digits (local.get $block)))
      (local.set $comma (call $equal (local.get $block) (i8x16.splat (i32.const 44))))
      (local.set $point (call $equal (local.get $block) (i8x16.splat (i32.const 46))))
      (local.set $minus (call $equal (local.get $block) (i8x16.splat (i32.const 45))))
      (local.set $zero (call $equal (local.get $block) (i8x16.splat (i32.const 48))))
      (local.set $exponent (i64.const 0)) (local.set $plus (i64.const 0)) (local.set $close (i64.const 0))
      (local.set $within (i64.const -1))
      (local.set $other (i64.xor (i64.const -1)
        (i64.or (i64.or (local.get $digit) (local.get $comma)) (i64.or (local.get $point) (local.get $minus)))))
      (if (i64.ne (local.get $other) (i64.const 0)) (then
        (local.set $close (call $equal (local.get $block) (i8x16.splat (i32.const 93))))
        (local.set $exponent (i64.or
          (call $equal (local.get $block) (i8x16.splat (i32.const 101)))
          (call $equal (local.get $block) (i8x16.splat (i32.const 69)))))
        (local.set $plus (call $equal (local.get $block) (i8x16.splat (i32.const 43))))
        ;; The first closing bracket, and all before it.
        (if (i64.ne (local.get $close) (i64.const 0)) (then
          (local.set $within (i64.xor (local.get $close) (i64.sub (local.get $close) (i64.const 1))))
          (local.set $close (i64.and (local.get $close) (local.get $within)))))
        (local.set $bad (i64.and (local.get $within) (i64.and (local.get $other) (i64.xor (i64.const -1)
          (i64.or (local.get $exponent) (i64.or (local.get $plus) (local.get $close)))))))))
      (local.set $sign (i64.or (local.get $minus) (local.get $plus)))
      (local.set $starts (call $after_bits (local.get $comma) (local.get $c_start)))
      (local.set $after_point (call $after_bits (local.get $point) (local.get $c_point)))
      (local.set $after_exponent (call $after_bits (local.get $exponent) (local.get $c_exponent)))
      (local.set $after_sign (call $after_bits (local.get $sign) (local.get $c_sign)))
      ;; A minus where a number or an exponent begins, a plus where an exponent does.
      (local.set $bad (i64.or (local.get $bad) (i64.and (local.get $minus)
        (i64.xor (i64.const -1) (i64.or (local.get $starts) (local.get $after_exponent))))))
      (local.set $bad (i64.or (local.get $bad) (i64.and (local.get $plus) (i64.xor (i64.const -1) (local.get $after_exponent)))))
      ;; A digit, or a sign and a digit, at the beginning; a digit after a point or a sign.
      (local.set $bad (i64.or (local.get $bad) (i64.and (local.get $starts)
        (i64.xor (i64.const -1) (i64.or (local.get $digit) (local.get $minus))))))
      (local.set $bad (i64.or (local.get $bad) (i64.and (local.get $after_exponent)
        (i64.xor (i64.const -1) (i64.or (local.get $digit) (local.get $sign))))))
      (local.set $bad (i64.or (local.get $bad) (i64.and (i64.or (local.get $after_point) (local.get $after_sign))
        (i64.xor (i64.const -1) (local.get $digit)))))
      ;; A digit before whatever is neither digit nor sign.
      (local.set $bad (i64.or (local.get $bad) (i64.and
        (i64.or (i64.or (local.get $comma) (local.get $point)) (i64.or (local.get $exponent) (local.get $close)))
        (i64.xor (i64.const -1) (call $after_bits (local.get $digit) (local.get $c_digit))))))
      ;; No digit after a zero at the beginning.
      (local.set $t (i64.and (local.get $minus) (local.get $starts)))
      (local.set $run (i64.and (local.get $zero) (i64.or (local.get $starts) (call $after_bits (local.get $t) (local.get $c_minus_start)))))
      (local.set $c_minus_start (call $last (local.get $t)))
      (local.set $bad (i64.or (local.get $bad) (i64.and (local.get $digit) (call $after_bits (local.get $run) (local.get $c_zero)))))
      (local.set $c_zero (call $last (local.get $run)))
      ;; No point at the end of the digits after a point. The sum carries through a run of digits to what stands after it.
      (local.set $run (i64.add (i64.add (i64.and (local.get $after_point) (local.get $digit)) (local.get $digit)) (local.get $c_fraction)))
      (local.set $bad (i64.or (local.get $bad) (i64.and (local.get $point) (i64.and (local.get $run) (i64.xor (i64.const -1) (local.get $digit))))))
      (local.set $c_fraction (i64.extend_i32_u (i64.lt_u (local.get $run) (local.get $digit))))
      ;; Neither point nor exponent after those of an exponent, and at most two of them.
      (if (i64.ne (i64.or (i64.or (local.get $exponent) (local.get $after_exponent))
                          (i64.or (local.get $c_exponent_sign) (i64.or (local.get $c_exponent_run) (local.get $c_exponent_digits)))) (i64.const 0)) (then
        (local.set $t (i64.and (local.get $sign) (local.get $after_exponent)))
        (local.set $run (i64.and (local.get $digit)
          (i64.or (local.get $after_exponent) (call $after_bits (local.get $t) (local.get $c_exponent_sign)))))
        (local.set $c_exponent_sign (call $last (local.get $t)))
        ;; $run: the first digits of exponents.
        (local.set $t (i64.or (i64.shl (local.get $run) (i64.const 2)) (local.get $c_exponent_digits)))
        (local.set $bad (i64.or (local.get $bad) (i64.and (local.get $t)
          (i64.and (local.get $digit) (call $after_bits (local.get $digit) (local.get $c_digit))))))
        (local.set $c_exponent_digits (i64.shr_u (local.get $run) (i64.const 62)))
        (local.set $run (i64.add (i64.add (local.get $run) (local.get $digit)) (local.get $c_exponent_run)))
        (local.set $bad (i64.or (local.get $bad) (i64.and (i64.or (local.get $point) (local.get $exponent))
          (i64.and (local.get $run) (i64.xor (i64.const -1) (local.get $digit))))))
        (local.set $c_exponent_run (i64.extend_i32_u (i64.lt_u (local.get $run) (local.get $digit))))))
      (local.set $bad (i64.and (local.get $bad) (local.get $within)))
      (if (i64.ne (local.get $bad) (i64.const 0)) (then
        ;; What stands beyond the end is left of another answer.
        (return (select (i32.const -1) (i32.const 0)
          (i32.ge_u (i32.add (local.get $block) (i32.wrap_i64 (i64.ctz (local.get $bad)))) (local.get $end))))))
      (local.set $count (i32.add (local.get $count)
        (i32.wrap_i64 (i64.popcnt (i64.and (local.get $comma) (local.get $within))))))
      (if (i64.ne (local.get $close) (i64.const 0)) (then
        (global.set $after (i32.add (local.get $block) (i32.add (i32.wrap_i64 (i64.ctz (local.get $close))) (i32.const 1))))
        (return (select (i32.const -1) (i32.add (local.get $count) (i32.const 1))
          (i32.gt_u (global.get $after) (local.get $end))))))
      ;; A number that takes up two blocks may be too long to be surely finite.
      (if (i64.eqz (local.get $comma))
        (then
          (local.set $without_comma (i32.add (local.get $without_comma) (i32.const 1)))
          (if (i32.gt_u (local.get $without_comma) (i32.const 1)) (then (return (i32.const 0)))))
        (else (local.set $without_comma (i32.const 0))))
      (local.set $bad (i64.const 0))
      (local.set $c_start (call $last (local.get $comma)))
      (local.set $c_point (call $last (local.get $point)))
      (local.set $c_exponent (call $last (local.get $exponent)))
      (local.set $c_sign (call $last (local.get $sign)))
      (local.set $c_digit (call $last (local.get $digit)))
      (local.set $block (i32.add (local.get $block) (i32.const 64)))
      (br $next))
    (unreachable)))
