#!/usr/bin/env bash
# Checkpoints: runs that are killed at random moments and gone on with end with the same bits as one that was left
# alone; also on other numbers of replicas. Only whole checkpoints count, and those of another training are neither taken
# for those of this one nor removed unasked. KILLS=N says how many runs are killed.
set -u
. "$(dirname "$0")/common.sh"
cd "$work" || exit 99

# A little training: a state, a loss that all replicas share, random numbers, and examples that are fed.
cat >train.hlo <<'EOF'
HloModule train

add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT sum = f32[] add(a, b)
}

ENTRY main {
  weights = f32[64,64] parameter(0)
  count = s32[] parameter(1)
  examples = f32[4,64] parameter(2)
  product = f32[4,64] dot(examples, weights), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  squashed = f32[4,64] tanh(product)
  gradient = f32[64,64] dot(examples, squashed), lhs_contracting_dims={0}, rhs_contracting_dims={0}
  all = f32[64,64] all-reduce(gradient), replica_groups={}, to_apply=add
  low = f32[] constant(0)
  high = f32[] constant(0.01)
  noise = f32[64,64] rng(low, high), distribution=rng_uniform
  rate = f32[] constant(-0.01)
  rates = f32[64,64] broadcast(rate), dimensions={}
  step = f32[64,64] multiply(all, rates)
  moved = f32[64,64] add(weights, step)
  shaken = f32[64,64] add(moved, noise)
  one = s32[] constant(1)
  next = s32[] add(count, one)
  ROOT both = (f32[64,64], s32[]) tuple(shaken, next)
}
EOF
sed 's/rng(low, high), distribution=rng_uniform/broadcast(low), dimensions={}/' train.hlo >calm.hlo
python3 - <<'EOF' || { skip "checkpoints: there is no python3"; finish; exit; }
import random, struct
random.seed(1)
head = b"{'descr': '<f4', 'fortran_order': False, 'shape': (32, 64), }"
head += b" " * (-(len(head) + 11) % 64) + b"\n"
with open("examples.npy", "wb") as file:
    file.write(b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head)
    file.write(struct.pack("<2048f", *(random.uniform(-1, 1) for _ in range(2048))))
EOF
carry=(--carry 0:0,1:1 --feed 2=examples.npy --input '1=s32[] 0' --random-inputs=3)
leak_check_off

# What the runs are compared with: ones that nothing disturbs.
expect_exit "undisturbed" 0 "$hlorun" --steps 2500 "${carry[@]}" -o alone.npz train.hlo
expect_exit "undisturbed, two replicas" 0 "$hlorun" -n 2 --steps 1500 "${carry[@]}" -o two.npz train.hlo

# killed NAME WANTED KILLS STEPS RANKS: kills whole runs with SIGKILL, at random moments, the last one when there is a
# checkpoint, then lets one finish.
killed() {
  local name=$1 wanted=$2 kills=$3 steps=$4 ranks=$5 pid
  rm -rf kept
  for turn in $(seq "$kills"); do
    setsid "$hlorun" -n "$ranks" --steps "$steps" "${carry[@]}" --checkpoint kept --every 20 --resume train.hlo >out \
      2>&1 </dev/null &
    pid=$!
    sleep "$(printf "0.%03d" $((RANDOM % 250 + 200 * ranks)))"
    for _ in $(seq 600); do
      if [ "$turn" -lt "$kills" ] || ls -d kept/step-* >/dev/null 2>&1; then break; fi
      sleep 0.1
    done
    kill -KILL -- "-$pid" 2>/dev/null
    wait "$pid" 2>/dev/null
  done
  if ls -d kept/step-* >/dev/null 2>&1; then pass; else fail "$name: there is a checkpoint" out; fi
  expect_exit "$name, at last" 0 "$hlorun" -n "$ranks" --steps "$((steps + 1))" "${carry[@]}" --checkpoint kept \
    --every 20 --resume train.hlo
  cp -r kept again
  rm -rf "again/step-$(printf %012d "$steps")"
  expect_exit "$name" 0 "$hlorun" -n "$ranks" --steps "$steps" "${carry[@]}" --checkpoint again --every 1000 --resume \
    --ulp 0 --expect "$wanted" train.hlo
  expect_text "$name" "going on after step"
  rm -rf again
}
killed "killed" alone.npz "${KILLS:-4}" 2500 1
killed "killed, two replicas" two.npz 3 1500 2
if [ -d kept ] && [ -z "$(ls kept | grep writing)" ]; then pass; else fail "half written checkpoints are removed"; fi
# Who is killed between a new one and the removal leaves one more, until the next.
expect_exit "another checkpoint" 0 "$hlorun" -n 2 --steps 1540 "${carry[@]}" --checkpoint kept --every 20 --resume \
  train.hlo
if [ "$(ls -d kept/step-* | wc -l)" -le 2 ]; then pass; else fail "old checkpoints are removed"; fi

# Torn and missing files: the newest whole one is used, and what is wrong with the others is said.
rm -rf kept
expect_exit "three checkpoints" 0 "$hlorun" --steps 90 "${carry[@]}" --checkpoint kept --every 30 --keep 3 train.hlo
expect_exit "the end of 100 steps" 0 "$hlorun" --steps 100 "${carry[@]}" -o hundred.npz train.hlo
cp -r kept grown
truncate -s 8T grown/step-000000000090/rank0.npz
truncate -s 8T grown/step-000000000060/manifest
addresses_kb=4000000 # no room for them, not even as addresses; sanitizers need more
if [ -n "$(sanitizer_flags)" ]; then addresses_kb=unlimited; fi
expect_exit "files that grew" 0 sh -c "ulimit -v $addresses_kb"'; exec timeout -k 5 30 "$@"' sh "$hlorun" --steps 100 \
  "${carry[@]}" --checkpoint grown --every 1000 --resume --ulp 0 --expect hundred.npz train.hlo
expect_text "files that grew" "rank0.npz is not what was written: it has 8796093022208 bytes, want"
expect_text "files that grew" "manifest is incomplete or not a manifest: it is too large"
expect_text "files that grew" "going on after step 30"
truncate -s -100 kept/step-000000000090/rank0.npz
expect_exit "a torn file" 0 "$hlorun" --steps 100 "${carry[@]}" --checkpoint kept --every 1000 --resume --ulp 0 \
  --expect hundred.npz train.hlo
expect_text "a torn file" "going on after step 60"
expect_text "a torn file" "rank0.npz is not what was written: it has"
if [ -d kept/torn-step-000000000090 ]; then pass; else fail "what is torn is put aside"; fi
rm kept/step-000000000060/rank0.npz
expect_exit "a missing file" 0 "$hlorun" --steps 100 "${carry[@]}" --checkpoint kept --every 1000 --resume --ulp 0 \
  --expect hundred.npz train.hlo
expect_text "a missing file" "going on after step 30"

# On another number of replicas, when all have the same: each goes on with the same bits.
rm -rf kept
expect_exit "two replicas" 0 "$hlorun" -n 2 --steps 40 "${carry[@]}" --checkpoint kept --every 40 calm.hlo
cp -r kept four
expect_exit "on four" 0 "$hlorun" -n 4 --steps 41 "${carry[@]}" --checkpoint four --every 1 --resume calm.hlo
expect_text "on four" "going on after step 40"
same=1
for rank in 1 2 3; do cmp -s four/step-000000000041/rank0.npz "four/step-000000000041/rank$rank.npz" || same=0; done
if [ "$same" = 1 ]; then pass; else fail "four replicas hold the same"; fi
expect_exit "on one" 0 "$hlorun" --steps 41 "${carry[@]}" --checkpoint kept --resume calm.hlo
expect_text "on one" "going on after step 40"

# --- which checkpoints count ---

# steps: what is in the folder, on one line.
steps() { (cd kept && ls -d step-* 2>/dev/null) | tr '\n' ' '; }

# is_there NAME WANTED: what the folder holds, by `steps`.
is_there() {
  if [ "$(steps)" = "$2" ]; then pass; else fail "$1: there are $(steps), want $2" "$work/out"; fi
}

# fresh STEPS EVERY KEEP [OPTION...]: a new folder, calm.hlo.
fresh() {
  local steps=$1 every=$2 keep=$3
  shift 3
  rm -rf kept
  expect_exit "fresh" 0 "$hlorun" "$@" --steps "$steps" "${carry[@]}" --checkpoint kept --every "$every" --keep "$keep" \
    calm.hlo
}

go=("$hlorun" "${carry[@]}" --checkpoint kept --steps)
tear() { truncate -s 10 "kept/step-$(printf %012d "$1")/manifest"; }

# A torn newest one does not count for --keep: what was whole and is written then stays.
fresh 40 20 2
tear 40
expect_exit "torn and --keep 1" 0 "${go[@]}" 35 --every 5 --keep 1 --resume calm.hlo
expect_text "torn and --keep 1" "warning: kept/step-000000000040 is not used"
expect_text "torn and --keep 1" "is kept as torn-step-000000000040"
is_there "torn and --keep 1" "step-000000000035 "
expect_exit "torn and --keep 1, again" 0 "${go[@]}" 40 --every 5 --keep 1 --resume calm.hlo
expect_text "torn and --keep 1, again" "going on after step 35"
if grep -q warning "$work/out"; then fail "what is torn is said once" "$work/out"; else pass; fi
is_there "torn and --keep 1, again" "step-000000000040 "

# One of an earlier run counts when it is whole, which is looked at when it matters.
fresh 60 20 3
tear 20
expect_exit "an older torn one" 0 "${go[@]}" 70 --every 10 --keep 3 --resume calm.hlo
is_there "an older torn one" "step-000000000040 step-000000000060 step-000000000070 "
fresh 60 20 3
printf x >>kept/step-000000000020/rank0.npz
expect_exit "an older torn file" 0 "${go[@]}" 70 --every 10 --keep 4 --resume calm.hlo
expect_text "an older torn file" "kept/step-000000000020/rank0.npz is not what was written"
is_there "an older torn file" "step-000000000040 step-000000000060 step-000000000070 "

# All torn: nothing begins anew, also the next time; only --overwrite does.
fresh 40 20 2
tear 20 && tear 40
for _ in 1 2; do
  expect_exit "all torn" 5 "${go[@]}" 60 --resume calm.hlo
  expect_text "all torn" "none of the 2 checkpoints in kept is whole"
done
is_there "all torn" "step-000000000020 step-000000000040 "
mkdir aside && mv kept/step-* aside && mv aside/step-000000000020 kept/torn-step-000000000020 && rm -r aside
expect_exit "only what was put aside" 5 "${go[@]}" 60 --resume calm.hlo
expect_exit "only what was put aside, anew" 2 "${go[@]}" 60 calm.hlo
expect_exit "all torn, --overwrite" 0 "${go[@]}" 30 --every 15 --overwrite calm.hlo
if [ "$(cd kept && ls -d torn-* 2>/dev/null)" = "" ]; then pass; else fail "--overwrite removes what was torn"; fi
is_there "all torn, --overwrite" "step-000000000015 step-000000000030 "

# --- another training's folder ---

fresh 40 20 2
expect_exit "a folder with checkpoints" 2 "${go[@]}" 15 --every 5 calm.hlo
expect_text "a folder with checkpoints" "kept has checkpoints, such as step-000000000040"
expect_text "a folder with checkpoints" "--overwrite"
is_there "a folder with checkpoints" "step-000000000020 step-000000000040 "
expect_exit "--resume and --overwrite" 2 "${go[@]}" 15 --resume --overwrite calm.hlo
expect_exit "--overwrite alone" 2 "$hlorun" --overwrite --steps 3 "${carry[@]}" calm.hlo
# Without a new checkpoint the old ones stay; with the first one they go, whatever their steps are.
expect_exit "--overwrite that writes none" 0 "${go[@]}" 4 --every 5 --overwrite calm.hlo
is_there "--overwrite that writes none" "step-000000000020 step-000000000040 "
expect_exit "--overwrite" 0 "${go[@]}" 7 --every 5 --overwrite calm.hlo
is_there "--overwrite" "step-000000000005 "
expect_exit "after --overwrite" 0 "${go[@]}" 8 --resume calm.hlo
expect_text "after --overwrite" "going on after step 5"
fresh 40 20 2
expect_exit "--overwrite of the same steps" 0 "${go[@]}" 20 --every 20 --overwrite calm.hlo
is_there "--overwrite of the same steps" "step-000000000020 "
# Killed between putting the old one aside and naming the new one of the same step: the old one is gone on with.
fresh 20 20 2
mv kept/step-000000000020 kept/replaced-step-000000000020
mkdir kept/writing-000000000020-0123456789abcdef
expect_exit "killed while replacing, anew" 2 "${go[@]}" 25 calm.hlo
is_there "killed while replacing, anew" "step-000000000020 "
mv kept/step-000000000020 kept/replaced-step-000000000020-0123456789abcdef
expect_exit "killed while replacing" 0 "${go[@]}" 25 --resume calm.hlo
expect_text "killed while replacing" "going on after step 20"
# A run that ends before it has removed the old ones: the newer training is gone on with.
fresh 40 20 2
cp -r kept old
expect_exit "a newer training" 0 "${go[@]}" 5 --every 5 --overwrite calm.hlo
cp -r old/step-000000000040 kept && rm -r old
expect_exit "a newer training, gone on with" 0 "${go[@]}" 8 --resume calm.hlo
expect_text "a newer training, gone on with" "going on after step 5"

# Another program is said, the same one is not.
fresh 40 20 2
sed 's/tanh/sine/; s/HloModule train/HloModule other/' calm.hlo >other.hlo
expect_exit "the same program" 0 "${go[@]}" 45 --resume calm.hlo
if grep -q warning "$work/out"; then fail "the same program is no other one" "$work/out"; else pass; fi
expect_exit "another program" 0 "${go[@]}" 45 --resume other.hlo
expect_text "another program" "warning: the checkpoint of step 40 is of program train (digest"
expect_text "another program" "this one is other ("
expect_exit "a program of other sizes" 2 "$hlorun" --steps 45 --carry 0:0 --random-inputs --checkpoint kept --resume \
  "$source_dir/examples/hello.hlo"
expect_text "a program of other sizes" "rank0.npz: it is of another program, or of another --carry"
# Metadata is none of the program; the values of a large constant are.
large() { # LAST ELEMENT, LINE
  cat <<EOF
HloModule large

ENTRY main {
  x = f32[2000] parameter(0)
  many = f32[2000] constant({$(seq -s, 1999), $1}), metadata={op_name="f" source_file="train.py" source_line=$2}
  ROOT next = f32[2000] add(x, many)
}
EOF
}
large 1 10 >large.hlo && large 1 20 >moved.hlo && large 2 10 >changed.hlo
added=(--carry 0:0 --random-inputs --checkpoint large --every 5)
expect_exit "a large constant" 0 "$hlorun" "${added[@]}" --steps 5 large.hlo
expect_exit "other lines" 0 "$hlorun" "${added[@]}" --steps 6 --resume moved.hlo
if grep -q warning "$work/out"; then fail "other lines are the same program" "$work/out"; else pass; fi
expect_exit "another constant" 0 "$hlorun" "${added[@]}" --steps 6 --resume changed.hlo
expect_text "another constant" "is of program large (digest"
expect_exit "fewer are carried" 0 "$hlorun" --steps 45 --carry 0:0 "${carry[@]:2}" --checkpoint kept --resume calm.hlo
expect_text "fewer are carried" "has in1, which --carry does not name"

# --- manifests ---

# What version 1 wrote is gone on with; its step is that of its folder.
fresh 40 20 2
for step in 20 40; do
  manifest=kept/step-$(printf %012d $step)/manifest
  sed -i -e 's/checkpoint 2/checkpoint 1/' -e '/^began/d' -e '/^blake2b/d' -e 's/^\(rank[^ ]* [^ ]* [^ ]* [^ ]*\).*/\1/' \
    "$manifest"
  echo end >>"$manifest"
done
cp -r kept first
expect_exit "version 1" 0 "${go[@]}" 45 --resume calm.hlo
expect_text "version 1" "going on after step 40"
if grep -q warning "$work/out"; then fail "version 1 says nothing of programs" "$work/out"; else pass; fi
expect_exit "version 1 and new ones" 0 "${go[@]}" 60 --every 20 --resume calm.hlo
is_there "version 1 and new ones" "step-000000000040 step-000000000060 "
expect_exit "version 1 and new ones, again" 0 "${go[@]}" 61 --resume calm.hlo
expect_text "version 1 and new ones, again" "going on after step 60"
rm -rf kept && mv first kept
sed -i 's/^step 40/step 44/' kept/step-000000000040/manifest
expect_exit "version 1 with another step" 0 "${go[@]}" 45 --resume calm.hlo
expect_text "version 1 with another step" "manifest is of step 44, its folder of step 40"
expect_text "version 1 with another step" "going on after step 20"
# Bits of the manifest, which once sent the run to a folder that was not there.
fresh 60 20 3
sed -i 's/^step 60/step 68/' kept/step-000000000060/manifest
expect_exit "another step" 0 "${go[@]}" 65 --resume calm.hlo
expect_text "another step" "its check sum differs"
expect_text "another step" "going on after step 40"
# A whole one under another name is not of that step.
fresh 40 20 2
cp -r kept/step-000000000020 kept/step-000000000080
mkdir kept/step-99999999999999999999 kept/step-50
expect_exit "another name" 0 "${go[@]}" 45 --resume calm.hlo
expect_text "another name" "going on after step 40"

# --- several processes ---

# Torn for one is torn for all; whoever finds out says so, once.
for torn in rank0.npz rank1.npz manifest; do
  fresh 40 20 2 -n 2
  truncate -s -50 "kept/step-000000000040/$torn"
  expect_exit "$torn of two" 0 "$hlorun" -n 2 --steps 45 "${carry[@]}" --checkpoint kept --every 15 --resume calm.hlo
  expect_text "$torn of two" "going on after step 20"
  if [ "$(grep -c "is not used" "$work/out")" = 1 ]; then pass; else fail "$torn of two is said once" "$work/out"; fi
  if [ -d kept/torn-step-000000000040 ]; then pass; else fail "$torn of two is put aside"; fi
done
fresh 40 20 2 -n 2
truncate -s 10 kept/step-*/rank1.npz
expect_exit "all torn of two" 5 "$hlorun" -n 2 --steps 45 "${carry[@]}" --checkpoint kept --resume calm.hlo
expect_text "all torn of two" "none of the 2 checkpoints in kept is whole"
fresh 40 20 2 -n 2
expect_exit "a folder with checkpoints of two" 2 "$hlorun" -n 2 --steps 45 "${carry[@]}" --checkpoint kept calm.hlo
expect_exit "another program of two" 0 "$hlorun" -n 2 --steps 45 "${carry[@]}" --checkpoint kept --resume other.hlo
if [ "$(grep -c "is of program" "$work/out")" = 1 ]; then pass; else fail "another program is said once" "$work/out"; fi

# --- what is no file of a checkpoint ---

for strange in rank0.npz manifest; do
  fresh 40 20 2
  rm "kept/step-000000000040/$strange" && mkfifo "kept/step-000000000040/$strange"
  expect_exit "$strange is a FIFO" 0 "${go[@]}" 45 --resume calm.hlo
  expect_text "$strange is a FIFO" "is no regular file"
  expect_text "$strange is a FIFO" "going on after step 20"
  fresh 40 20 2
  mv "kept/step-000000000040/$strange" elsewhere && ln -s ../../elsewhere "kept/step-000000000040/$strange"
  expect_exit "$strange is a link" 0 "${go[@]}" 45 --resume calm.hlo
  expect_text "$strange is a link" "is a symbolic link"
done
# Links lead nowhere, also when what they are called is removed.
mkdir outside && echo x >outside/precious
for link in writing-x gone-x step-000000000001 torn-step-000000000002; do
  fresh 40 20 2
  ln -s ../outside "kept/$link"
  expect_exit "a link $link" 0 "${go[@]}" 80 --every 20 --resume calm.hlo
  if [ -f outside/precious ]; then pass; else fail "a link $link: what it leads to is removed"; fi
done
fresh 40 20 2
ln -s ../outside kept/step-000000000010
expect_exit "links and --overwrite" 0 "${go[@]}" 10 --every 10 --overwrite calm.hlo
if [ -f outside/precious ] && [ -d kept/step-000000000010 ] && [ ! -L kept/step-000000000010 ]; then pass; else
  fail "links and --overwrite"; fi
rm -rf kept && mkdir kept && ln -s ../outside/precious kept/lock
expect_exit "the lock is a link" 5 "${go[@]}" 10 calm.hlo
# A folder that is taken away while it is used.
rm -rf kept
"$hlorun" --steps 100000000 "${carry[@]}" --checkpoint kept --every 5 --no-progress calm.hlo >out 2>&1 </dev/null &
pid=$!
eventually test -d kept/step-000000000005 -o -d kept/step-000000000010 -o -d kept/step-000000000050
expect_exit "a second run" 5 "${go[@]}" 10 calm.hlo
expect_text "a second run" "another run writes its checkpoints to kept"
mv kept moved && mkdir kept
sleep 0.3
if [ -z "$(ls kept)" ] && kill -0 "$pid" 2>/dev/null; then pass; else fail "a folder that is moved is still used" out; fi
kill -TERM "$pid" && wait "$pid"
if [ "$(grep -c "warning: kept was renamed or replaced: .* $PWD/moved, go on from there" out)" = 1 ]; then pass; else
  fail "a folder that is moved: said once" out; fi
rm -rf moved

# What cannot be is refused.
fresh 40 20 2
expect_exit "nothing is carried" 2 "$hlorun" --checkpoint kept --input 0=1 "$source_dir/examples/heat.hlo"
expect_exit "resume from nowhere" 2 "$hlorun" --resume --steps 3 "${carry[@]}" calm.hlo
expect_exit "nothing is left to do" 2 "$hlorun" --steps 40 "${carry[@]}" --checkpoint kept --resume calm.hlo
expect_exit "a folder that cannot be" 5 "$hlorun" --steps 40 "${carry[@]}" --checkpoint /proc/nowhere calm.hlo
finish
